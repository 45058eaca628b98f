// Whose call this is. What the auth service signs for somebody it signs while they call, and it sees their token: the
// handlers in between need not know of it.
import { AsyncLocalStorage } from "node:async_hooks"

const storage = new AsyncLocalStorage<string>()

/** Runs the work of a call that came with this access token. */
export const withCallerToken = <T>(token: string, work: () => T): T => storage.run(token, work)

/** The access token of the call that this runs in; undefined where nobody called, as in an alarm. */
export const callerToken = (): string | undefined => storage.getStore()
