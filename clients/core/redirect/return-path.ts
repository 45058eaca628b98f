import { SignetError } from "../errors.ts"

/** Browsers treat a backslash as a slash, and drop tabs and line ends, so none of them is permitted. */
const shape = /^\/[!-[\]-~]*$/

/**
 * Checks the path for after a sign-in: a path of the app's own origin, with optional query and fragment.
 *
 * @throws SignetError RETURN_PATH_INVALID for a text that could lead to another origin.
 */
export function checkReturnPath(text: string): string {
  const [path = ""] = text.split(/[?#]/)
  if (text.length > 2_048 || !shape.test(text) || path.includes("//")) {
    throw new SignetError("RETURN_PATH_INVALID", "returnTo must be a path of this origin and begin with one slash")
  }
  return text
}
