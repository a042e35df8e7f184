"""One file per pack: which sections a letter must have, in which order, what they need, and who asks for it."""
