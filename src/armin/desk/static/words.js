// Every word the page says by itself, in each language. Sentences about the data come from the server.

let language = "en";

const COUNT = {
  en: ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
  de: ["keine", "eine", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"],
};
const PREFIX_UNITS = ["$", "€", "£", "¥"];

const count = (n) => COUNT[language][n] || number(n);
const first = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export function number(value, digits = 6) {
  return new Intl.NumberFormat(language, { maximumSignificantDigits: digits }).format(value);
}

// a cost: three digits, no powers of ten
export function figure(value) {
  const format = Math.abs(value) >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 };
  return new Intl.NumberFormat(language, format).format(value);
}

// a share, never rounded to certainty
export function percent(share) {
  const show = (digits) => `${new Intl.NumberFormat(language, { maximumFractionDigits: digits }).format(share * 100)} %`;
  if (share <= 0 || share >= 1) return show(0);
  for (let digits = 0; digits <= 6; digits += 1) {
    const rounded = Number((share * 100).toFixed(digits));
    if (rounded > 0 && rounded < 100) return show(digits);
  }
  return show(9);
}

export function quantity(value, unit) {
  const text = number(value, 12);
  if (!unit) return text;
  return PREFIX_UNITS.includes(unit) && language === "en" ? `${unit}${text}` : `${text} ${unit}`;
}

// what the columns, their values and the decisions are called in the present language, if the company says so
let features = new Map();
let decisions = {};
export function learn(schema) {
  features = new Map(schema.features.map((feature) => [feature.name, feature]));
  decisions = schema.decisions || {};
}
const decisionOf = (label) => (Object.hasOwn(decisions, String(label)) ? decisions[String(label)] : label);

export function labelOf(change) {
  const feature = features.get(change.feature);
  return language === "en" || !feature ? change.label : feature.label;
}

function valueOf(change, value, text) {
  const feature = features.get(change.feature);
  const found = feature && feature.categories ? feature.categories.find((category) => category.value === value) : null;
  return found && found.label !== String(value) ? found.label : text;
}

const quoted = { en: (text) => `“${text}”`, de: (text) => `„${text}“` };
export const wanted = (labels) => labels.map((label) => quoted[language](decisionOf(label))).join(language === "en" ? " or " : " oder ");

const en = {
  languageName: "English",
  languages: "Language",
  skip: "Skip to the answer",
  eyebrow: "Recourse desk",
  title: "What can I do?",
  lead: "Fill in what you want to tell. Leave out what you do not. You get an honest answer either way.",
  promiseBlank: "A blank is fine: it is your right.",
  promiseStore: "This page keeps nothing in your browser.",
  promiseCheck: "Every plan is checked against the deciding model itself.",
  formTitle: "About you",
  peopleTitle: "Just looking? Start with one of these people.",
  loaded: (name) => `The form now shows ${name}.`,
  send: "What can I do?",
  working: "Working …",
  update: "Update the plan",
  stop: "Stop",
  clear: "Start again",
  cleared: "The form is empty.",
  foot: "This is advice about one decision model. It is not a promise of any future decision.",
  blank: "Prefer not to say",
  lock: "I cannot change this",
  never: "A plan never asks you to change this.",
  upOnly: "A plan can only ask you to raise this.",
  downOnly: "A plan can only ask you to lower this.",
  notTold: "Not told",
  choose: "Not told",
  between: (low, high) => `From ${low} to ${high}.`,
  atLeast: (low) => `At least ${low}.`,
  atMost: (high) => `At most ${high}.`,
  whole: "A whole number.",
  errorNumber: (label) => `${label} must be a number. Correct it, or leave it blank.`,
  errorWhole: (label) => `${label} must be a whole number. Correct it, or leave it blank.`,
  errorRange: (label, rule) => `${label} is outside the limits. ${rule} Correct it, or leave it blank.`,
  errorSummary: (n) => (n === 1 ? "One field needs a look:" : `${first(count(n))} fields need a look:`),
  emptyTitle: "Your answer will appear here",
  emptyText: "Tell as much or as little as you like, then press the button. The fields you leave blank are treated as not known, and the answer tells you how.",
  workTitle: "Looking for the easiest plan …",
  workText: "This usually takes a moment. You can stop at any time.",
  stoppedTitle: "Stopped",
  stoppedText: "Your entries are still in the form. Press the button to look again.",
  nothingTitle: "Please tell at least one thing",
  nothingText: "With every field blank there is nobody to advise yet. One value is enough; all others may stay blank.",
  stale: "The form has changed since this answer.",
  yourAnswer: "Your answer",
  changes: (n) => `${count(n)} ${n === 1 ? "change" : "changes"}`,
  headPlan: (n, goal, cases) => `${first(t("changes", n))} would lead to ${goal}${cases}.`,
  casesAll: " in every case we tried",
  casesSome: (full) => ` in ${full} of 100 plausible cases`,
  headAccepted: "Good news: nothing needs to change.",
  headNone: (goal) => `No plan leads to ${goal} this way.`,
  headTime: "The time ran out before a plan was found.",
  badgeProved: "Proved cheapest",
  badgeSoFar: "Not proven best yet",
  badgeOther: "Another way",
  badgeAccepted: "Already accepted",
  badgeNone: "Proved: no plan",
  badgeTime: "Time ran out",
  provedText: "No allowed plan costs less. This is proved, not guessed.",
  soFarText: (gap) => `This plan works. The search ended before it could prove that none is cheaper${gap === null ? "" : `: another plan could cost up to ${gap} less`}.`,
  otherText: (more) => (more === null ? "This is another way to the same goal." : `This is another way to the same goal. It costs ${more} more than the cheapest plan.`),
  costIs: (cost) => `Cost ${cost}`,
  costText: "Cost is one number for how hard a plan is. Lower is easier.",
  acceptedSure: (goal) => `With what you told, the decision is already ${goal}.`,
  acceptedBlank: (share, goal) => `Whatever you left blank, the decision is already ${goal} in ${share} of the ways to fill it in.`,
  sureTitle: "How sure is this?",
  sureAll: "Nothing was left blank. The deciding model itself says yes after these changes.",
  sureWays: (share) => `It works in ${share} of the plausible ways to fill your blanks.`,
  sureFresh: (share, low, high) => `Tested on values that the search had not seen: it works in ${share} of them (very likely between ${low} and ${high}).`,
  dots: (n) => `${n} of 100`,
  whyTitle: "Why not?",
  whyProved: "Every allowed combination of changes was ruled out. This is proved, not guessed.",
  whyLocked: (labels) => `You said that you cannot change: ${labels}.`,
  whyFixed: (labels) => `The rules of this desk never change: ${labels}.`,
  whyBlank: (asked) => `Some values are not known, and the plan should work in at least ${asked} of the ways to fill them in.`,
  whyReach: (most) => `The surest plan works in ${most} of them.`,
  whyNext: "What you can do next",
  unlock: (label) => `I could change this after all: ${label}`,
  showSurest: (most) => `Show the plan that works in ${most}`,
  tellMore: "Tell more: it may open a way. See below.",
  askHuman: "Ask the people who decide to look at your case themselves.",
  timeText: "A plan may still exist. Try again, or mark what you cannot change: that makes the search smaller.",
  timeBound: (bound) => `What is known: no plan costs less than ${bound}.`,
  again: "Try again",
  planTitle: "The plan",
  lockThis: "I cannot change this",
  waysTitle: "Other ways to get there",
  waysText: "Choose the one that suits you.",
  waysWait: "Looking for other ways …",
  waysNone: "No other plan was found.",
  waysFail: "Other ways could not be loaded.",
  way: (letter) => `Plan ${letter}`,
  cheapest: "Easiest",
  curveTitle: "How sure do you want to be?",
  curveText: "Some things are not known, so no plan is sure for everybody. Move the slider: a surer plan costs more.",
  curveWait: "Working out how the plan changes …",
  curveFail: "The slider could not be loaded.",
  slider: "How sure the plan should be",
  sliderValue: (share, changes, cost) => `${share}: ${changes}, cost ${cost}`,
  nothingToDo: "Nothing to change",
  axisX: "Works in … of the ways to fill the blanks",
  axisY: "Cost",
  asked: (share) => `asked: ${share}`,
  chart: (n, low, high) => `Staircase chart with ${n} steps: the cost of the cheapest plan, from ${low} to ${high}.`,
  endNone: (share) => `No allowed plan works in more than ${share}. This is proved.`,
  endTime: (share) => `Time ran out: whether a plan can be surer than ${share} is not known.`,
  blanksTitle: "What you did not tell",
  blanksText: "You left these blank. Many plausible values were tried instead of one guess.",
  blanksKnown: "Only values that fit the decision already made were tried.",
  modeFreeze: "The plan does not touch it.",
  modeShift: "The plan may ask you to move it by an amount, whatever it is now.",
  modeReach: "The plan may name a goal, whatever it is now.",
  askWait: "Checking whether telling would help …",
  askFail: "Whether telling would help could not be checked.",
  askYes: "Telling could help",
  askMaybe: "Might change the plan",
  askNo: "No need to tell",
  askNoSentence: (label) => `${label} would not change the advice.`,
  askSaves: (label, cost, now) => `If you tell ${label}, the plan costs ${cost} instead of ${now}, on average.`,
  askOpens: (label, cost) => `If you tell ${label}, there can be a plan, at a cost of ${cost} on average; without it there is none.`,
  tell: (label) => `Tell: ${label}`,
  notesTitle: "Good to know",
  letter: "Letter / print",
  reference: (text) => `Reference ${text}`,
  letterTitle: "Your letter",
  letterName: "Name on the letter (optional)",
  letterApply: "Put it on the letter",
  letterWait: "Writing the letter …",
  letterFail: "The letter could not be written. Please try again.",
  letterReady: "The letter is ready to print.",
  print: "Print",
  close: "Close",
  offlineTitle: "The desk cannot be reached",
  offlineText: "Your entries are still here. Check the connection, then try again.",
  busyTitle: "The desk is busy",
  busyText: (wait) => (wait ? `Many people are asking just now. Please try again in ${number(wait)} seconds. Your entries are still here.` : "Many people are asking just now. Please try again in a moment. Your entries are still here."),
  keyTitle: "This desk needs an access key",
  keyText: "Ask whoever runs the desk for the key. It is kept until you close this page, and nowhere else.",
  keyLabel: "Access key",
  keySend: "Open the desk",
  errorTitle: "That did not work",
  errorText: "The desk could not answer. Your entries are still here.",
  readyPlan: (headline) => `The answer is ready. ${headline}`,
};

const de = {
  languageName: "Deutsch",
  languages: "Sprache",
  skip: "Zur Antwort springen",
  eyebrow: "Beratung zur Entscheidung",
  title: "Was kann ich tun?",
  lead: "Geben Sie an, was Sie angeben möchten. Lassen Sie weg, was Sie nicht sagen möchten. Eine ehrliche Antwort gibt es in jedem Fall.",
  promiseBlank: "Ein leeres Feld ist in Ordnung: Das ist Ihr Recht.",
  promiseStore: "Diese Seite speichert nichts in Ihrem Browser.",
  promiseCheck: "Jeder Plan wird mit dem entscheidenden Modell selbst geprüft.",
  formTitle: "Ihre Angaben",
  peopleTitle: "Nur zum Ausprobieren? Beginnen Sie mit einer dieser Personen.",
  loaded: (name) => `Das Formular zeigt jetzt ${name}.`,
  send: "Was kann ich tun?",
  working: "Einen Moment …",
  update: "Plan aktualisieren",
  stop: "Anhalten",
  clear: "Neu beginnen",
  cleared: "Das Formular ist leer.",
  foot: "Dies ist ein Rat zu einem Entscheidungsmodell. Er sagt keine künftige Entscheidung zu.",
  blank: "Möchte ich nicht sagen",
  lock: "Kann ich nicht ändern",
  never: "Ein Plan ändert dies nie.",
  upOnly: "Ein Plan kann dies nur erhöhen.",
  downOnly: "Ein Plan kann dies nur senken.",
  notTold: "Nicht angegeben",
  choose: "Nicht angegeben",
  between: (low, high) => `Von ${low} bis ${high}.`,
  atLeast: (low) => `Mindestens ${low}.`,
  atMost: (high) => `Höchstens ${high}.`,
  whole: "Eine ganze Zahl.",
  errorNumber: (label) => `${label} muss eine Zahl sein. Bitte berichtigen oder leer lassen.`,
  errorWhole: (label) => `${label} muss eine ganze Zahl sein. Bitte berichtigen oder leer lassen.`,
  errorRange: (label, rule) => `${label} liegt außerhalb der Grenzen. ${rule} Bitte berichtigen oder leer lassen.`,
  errorSummary: (n) => (n === 1 ? "Ein Feld braucht einen Blick:" : `${first(count(n))} Felder brauchen einen Blick:`),
  emptyTitle: "Hier erscheint Ihre Antwort",
  emptyText: "Sagen Sie so viel oder so wenig, wie Sie möchten, und drücken Sie dann den Knopf. Leere Felder gelten als nicht bekannt, und die Antwort sagt, wie damit umgegangen wurde.",
  workTitle: "Der leichteste Plan wird gesucht …",
  workText: "Das dauert meist nur einen Moment. Sie können jederzeit anhalten.",
  stoppedTitle: "Angehalten",
  stoppedText: "Ihre Angaben stehen noch im Formular. Drücken Sie den Knopf, um neu zu suchen.",
  nothingTitle: "Bitte geben Sie mindestens eines an",
  nothingText: "Wenn jedes Feld leer ist, gibt es noch niemanden zu beraten. Eine Angabe genügt; alle anderen dürfen leer bleiben.",
  stale: "Das Formular wurde seit dieser Antwort geändert.",
  yourAnswer: "Ihre Antwort",
  changes: (n) => `${count(n)} ${n === 1 ? "Änderung" : "Änderungen"}`,
  headPlan: (n, goal, cases) => `${first(t("changes", n))} ${n === 1 ? "würde" : "würden"}${cases} zu ${goal} führen.`,
  casesAll: " in jedem geprüften Fall",
  casesSome: (full) => ` in ${full} von 100 plausiblen Fällen`,
  headAccepted: "Gute Nachricht: Sie müssen nichts ändern.",
  headNone: (goal) => `So führt kein Plan zu ${goal}.`,
  headTime: "Die Zeit war um, bevor ein Plan gefunden wurde.",
  badgeProved: "Bewiesen günstigster Plan",
  badgeSoFar: "Noch nicht als bester bewiesen",
  badgeOther: "Ein anderer Weg",
  badgeAccepted: "Schon angenommen",
  badgeNone: "Bewiesen: kein Plan",
  badgeTime: "Zeit abgelaufen",
  provedText: "Kein erlaubter Plan kostet weniger. Das ist bewiesen, nicht geschätzt.",
  soFarText: (gap) => `Dieser Plan wirkt. Die Suche endete, bevor bewiesen war, dass keiner günstiger ist${gap === null ? "" : `: Ein anderer könnte bis zu ${gap} weniger kosten`}.`,
  otherText: (more) => (more === null ? "Ein anderer Weg zum selben Ziel." : `Ein anderer Weg zum selben Ziel. Er kostet ${more} mehr als der günstigste Plan.`),
  costIs: (cost) => `Kosten ${cost}`,
  costText: "Die Kosten sind eine Zahl dafür, wie schwer ein Plan ist. Weniger ist leichter.",
  acceptedSure: (goal) => `Mit Ihren Angaben lautet die Entscheidung schon ${goal}.`,
  acceptedBlank: (share, goal) => `Was Sie auch leer gelassen haben: Bei ${share} der Möglichkeiten, es auszufüllen, lautet die Entscheidung schon ${goal}.`,
  sureTitle: "Wie sicher ist das?",
  sureAll: "Nichts blieb leer. Das entscheidende Modell selbst sagt nach diesen Änderungen Ja.",
  sureWays: (share) => `Er wirkt bei ${share} der plausiblen Möglichkeiten, die leeren Felder auszufüllen.`,
  sureFresh: (share, low, high) => `Geprüft an Werten, die die Suche nicht kannte: Er wirkt bei ${share} davon (sehr wahrscheinlich zwischen ${low} und ${high}).`,
  dots: (n) => `${n} von 100`,
  whyTitle: "Warum nicht?",
  whyProved: "Jede erlaubte Verbindung von Änderungen ist ausgeschlossen. Das ist bewiesen, nicht geschätzt.",
  whyLocked: (labels) => `Sie sagten, dass Sie dies nicht ändern können: ${labels}.`,
  whyFixed: (labels) => `Die Regeln dieser Beratung ändern nie: ${labels}.`,
  whyBlank: (asked) => `Manche Werte sind nicht bekannt, und der Plan soll bei mindestens ${asked} der Möglichkeiten wirken, sie auszufüllen.`,
  whyReach: (most) => `Der sicherste Plan wirkt bei ${most} davon.`,
  whyNext: "Was Sie jetzt tun können",
  unlock: (label) => `Das könnte ich doch ändern: ${label}`,
  showSurest: (most) => `Den Plan zeigen, der bei ${most} wirkt`,
  tellMore: "Mehr angeben: Das kann einen Weg öffnen. Siehe unten.",
  askHuman: "Bitten Sie die Menschen, die entscheiden, Ihren Fall selbst anzusehen.",
  timeText: "Es kann trotzdem einen Plan geben. Versuchen Sie es noch einmal, oder markieren Sie, was Sie nicht ändern können: Dann ist die Suche kleiner.",
  timeBound: (bound) => `Bekannt ist: Kein Plan kostet weniger als ${bound}.`,
  again: "Noch einmal versuchen",
  planTitle: "Der Plan",
  lockThis: "Kann ich nicht ändern",
  waysTitle: "Andere Wege zum Ziel",
  waysText: "Wählen Sie, was zu Ihnen passt.",
  waysWait: "Andere Wege werden gesucht …",
  waysNone: "Es wurde kein anderer Plan gefunden.",
  waysFail: "Andere Wege konnten nicht geladen werden.",
  way: (letter) => `Plan ${letter}`,
  cheapest: "Am leichtesten",
  curveTitle: "Wie sicher soll es sein?",
  curveText: "Manches ist nicht bekannt, also ist kein Plan für alle sicher. Bewegen Sie den Regler: Ein sichererer Plan kostet mehr.",
  curveWait: "Es wird berechnet, wie sich der Plan ändert …",
  curveFail: "Der Regler konnte nicht geladen werden.",
  slider: "Wie sicher der Plan sein soll",
  sliderValue: (share, changes, cost) => `${share}: ${changes}, Kosten ${cost}`,
  nothingToDo: "Nichts zu ändern",
  axisX: "Wirkt bei … der Möglichkeiten, die Lücken zu füllen",
  axisY: "Kosten",
  asked: (share) => `verlangt: ${share}`,
  chart: (n, low, high) => `Treppe mit ${n} Stufen: die Kosten des günstigsten Plans, von ${low} bis ${high}.`,
  endNone: (share) => `Kein erlaubter Plan wirkt bei mehr als ${share}. Das ist bewiesen.`,
  endTime: (share) => `Die Zeit war um: Ob ein Plan sicherer als ${share} sein kann, ist nicht bekannt.`,
  blanksTitle: "Was Sie nicht gesagt haben",
  blanksText: "Diese Felder blieben leer. Statt eines Ratewerts wurden viele plausible Werte geprüft.",
  blanksKnown: "Geprüft wurden nur Werte, die zur schon getroffenen Entscheidung passen.",
  modeFreeze: "Der Plan ändert es nicht.",
  modeShift: "Der Plan kann verlangen, es um einen Betrag zu ändern, wie hoch es auch ist.",
  modeReach: "Der Plan kann ein Ziel nennen, wie es auch jetzt ist.",
  askWait: "Es wird geprüft, ob eine Angabe helfen würde …",
  askFail: "Ob eine Angabe helfen würde, konnte nicht geprüft werden.",
  askYes: "Eine Angabe könnte helfen",
  askMaybe: "Könnte den Plan ändern",
  askNo: "Angabe nicht nötig",
  askNoSentence: (label) => `${label}: Eine Angabe würde den Rat nicht ändern.`,
  askSaves: (label, cost, now) => `${label}: Mit dieser Angabe kostet der Plan im Mittel ${cost} statt ${now}.`,
  askOpens: (label, cost) => `${label}: Mit dieser Angabe kann es einen Plan geben, im Mittel zu Kosten von ${cost}; ohne sie gibt es keinen.`,
  tell: (label) => `Angeben: ${label}`,
  notesTitle: "Gut zu wissen",
  letter: "Brief / Drucken",
  reference: (text) => `Zeichen ${text}`,
  letterTitle: "Ihr Brief",
  letterName: "Name auf dem Brief (freiwillig)",
  letterApply: "In den Brief setzen",
  letterWait: "Der Brief wird geschrieben …",
  letterFail: "Der Brief konnte nicht geschrieben werden. Bitte versuchen Sie es noch einmal.",
  letterReady: "Der Brief kann gedruckt werden.",
  print: "Drucken",
  close: "Schließen",
  offlineTitle: "Die Beratung ist nicht erreichbar",
  offlineText: "Ihre Angaben sind noch da. Prüfen Sie die Verbindung und versuchen Sie es noch einmal.",
  busyTitle: "Gerade ist viel los",
  busyText: (wait) => (wait ? `Viele fragen gerade. Bitte versuchen Sie es in ${number(wait)} Sekunden noch einmal. Ihre Angaben sind noch da.` : "Viele fragen gerade. Bitte versuchen Sie es gleich noch einmal. Ihre Angaben sind noch da."),
  keyTitle: "Diese Beratung braucht einen Zugangsschlüssel",
  keyText: "Fragen Sie die Betreiber nach dem Schlüssel. Er bleibt, bis Sie diese Seite schließen, und sonst nirgends.",
  keyLabel: "Zugangsschlüssel",
  keySend: "Beratung öffnen",
  errorTitle: "Das hat nicht geklappt",
  errorText: "Die Beratung konnte nicht antworten. Ihre Angaben sind noch da.",
  readyPlan: (headline) => `Die Antwort ist da. ${headline}`,
};

const ALL = { en, de };

export const all = () => Object.keys(ALL);
export const known = (code) => code in ALL;
export const current = () => language;
export const nameOf = (code) => ALL[code].languageName;
export function speak(code) { language = known(code) ? code : "en"; }

export function t(word, ...values) {
  const entry = ALL[language][word];
  return typeof entry === "function" ? entry(...values) : entry;
}

// what a change asks for; the server says it in English
export function changeSentence(change) {
  if (language === "en") return change.sentence;
  const { mode, direction } = change;
  const label = labelOf(change);
  const after = valueOf(change, change.after, change.after_text);
  const verb = { up: "erhöhen", down: "senken" }[direction] || "ändern";
  if (mode === "shift") return `${label}: um ${change.amount_text} ${verb}, wie hoch der Wert jetzt auch ist.`;
  if (mode === "reach") {
    const bound = { up: "mindestens ", down: "höchstens " }[direction] || "";
    return `${label}: dafür sorgen, dass ${bound}${after} erreicht ist.`;
  }
  return `${label}: von ${valueOf(change, change.before, change.before_text)} auf ${after} ${verb}.`;
}

// the same in a few signs, as the server says it, with the names of the present language
export function changeShort(change, short) {
  if (language === "en") return short;
  const tail = short.startsWith(change.label) ? short.slice(change.label.length) : ` ${short}`;
  const after = change.after_text || "";
  const end = after && tail.endsWith(after) ? tail.slice(0, -after.length) + valueOf(change, change.after, after) : tail;
  return `${labelOf(change)}${end}`;
}
