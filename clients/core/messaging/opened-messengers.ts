import type { Context } from "./context.ts"
import type { Messenger } from "./messenger.ts"

const contexts = new WeakMap<Messenger, Context>()

/** Remembers the context of a messenger for entries that a page loads separately. No property of it leads there. */
export function rememberContext(messenger: Messenger, context: Context): void {
  contexts.set(messenger, context)
}

/** @throws TypeError for a messenger of another package, or of another copy of this one. */
export function contextOf(messenger: Messenger): Context {
  const context = contexts.get(messenger)
  if (context === undefined) {
    throw new TypeError(
      "the messenger runs in a Worker, or was not opened by createMessenger of the package of this function",
    )
  }
  return context
}
