// What a person wants to be kept over a reload: in this tab's own storage, only while it is wanted, and gone with the tab.

const KEY = "armin_desk";

export const isKept = () => window.sessionStorage.getItem(KEY) !== null;

export const forget = () => window.sessionStorage.removeItem(KEY);

// whether there was room for it
export function keep(state) {
  try {
    window.sessionStorage.setItem(KEY, JSON.stringify(state));
    return true;
  } catch {
    forget();
    return false;
  }
}

// what was kept, or null; what cannot be read is forgotten
export function recall() {
  try {
    return JSON.parse(window.sessionStorage.getItem(KEY));
  } catch {
    forget();
    return null;
  }
}
