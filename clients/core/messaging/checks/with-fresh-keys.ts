import type { Trust } from "../deps.ts"
import { mayBeStaleKeys } from "./verdict.ts"

/**
 * Runs work that verifies with the issuer keys. If they may be outdated, fetches newer ones, and runs the work once more.
 * Calls the service, so it is not used inside the change of a conversation.
 */
export async function withFreshKeys<T>({ issuer }: Pick<Trust, "issuer">, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!mayBeStaleKeys(error)) throw error
    await issuer.refresh()
    return work()
  }
}
