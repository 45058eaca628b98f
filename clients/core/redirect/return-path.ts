import { SignetError } from "../errors.ts"

/** Browsers read a backslash as a slash, and drop tabs and line ends: none of them is in a path here. */
const shape = /^\/[!-[\]-~]*$/

/**
 * Where the app goes on after a sign-in: a path of the app's own origin, with a query and a fragment if it has them.
 *
 * @throws SignetError RETURN_PATH_INVALID for anything that could lead to another origin.
 */
export function checkReturnPath(text: string): string {
  const [path = ""] = text.split(/[?#]/)
  if (text.length > 2_048 || !shape.test(text) || path.includes("//")) {
    throw new SignetError("RETURN_PATH_INVALID", "returnTo is a path of this origin: it begins with one slash")
  }
  return text
}
