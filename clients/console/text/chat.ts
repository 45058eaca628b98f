// The catalogue of the chat, by subject.

import { anew, keys, problems } from "./chat-keys.ts"
import { chat } from "./chat-messages.ts"
import { stored } from "./chat-stored.ts"
import { t as frame } from "./frame.ts"

export const t = { ...frame, chat, keys, problems, anew, stored }
