import { type CanonicalCode, CanonicalError } from "../errors.ts"

/** The code that `act` is refused with, or "ok". Any other error is a defect and goes on. */
export function codeOf(act: () => unknown): CanonicalCode | "ok" {
  try {
    act()
    return "ok"
  } catch (error) {
    if (error instanceof CanonicalError) return error.code
    throw error
  }
}

/** `codeOf` for what is waited for. */
export async function codeOfAsync(act: () => Promise<unknown>): Promise<CanonicalCode | "ok"> {
  try {
    await act()
    return "ok"
  } catch (error) {
    if (error instanceof CanonicalError) return error.code
    throw error
  }
}
