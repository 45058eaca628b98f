import { type CanonicalCode, CanonicalError } from "../errors.ts"

/** Returns the code of a refusal by `act`, or "ok". Other errors are defects and propagate. */
export function codeOf(act: () => unknown): CanonicalCode | "ok" {
  try {
    act()
    return "ok"
  } catch (error) {
    if (error instanceof CanonicalError) return error.code
    throw error
  }
}

/** `codeOf` for asynchronous code. */
export async function codeOfAsync(act: () => Promise<unknown>): Promise<CanonicalCode | "ok"> {
  try {
    await act()
    return "ok"
  } catch (error) {
    if (error instanceof CanonicalError) return error.code
    throw error
  }
}
