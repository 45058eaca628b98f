// The caller's access token, for the auth service: it signs for a user only with that user's token. The handlers in
// between need not pass it.
import { AsyncLocalStorage } from "node:async_hooks"

const storage = new AsyncLocalStorage<string>()

/** Runs the work of a call that has this access token. */
export const withCallerToken = <T>(token: string, work: () => T): T => storage.run(token, work)

/** The access token of the current call; undefined without one, as in an alarm. */
export const callerToken = (): string | undefined => storage.getStore()
