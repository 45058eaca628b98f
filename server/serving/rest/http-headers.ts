/** True for a body of type `application/json`: in UTF-8 if it names a charset, and not compressed. */
export function isJson(contentType: string | null, contentEncoding: string | null): boolean {
  return isPlain(contentEncoding) && isOfType("application/json", contentType)
}

/** True for a body of a form: in UTF-8 if it names a charset, and not compressed. */
export function isForm(contentType: string | null, contentEncoding: string | null): boolean {
  return isPlain(contentEncoding) && isOfType("application/x-www-form-urlencoded", contentType)
}

const isPlain = (contentEncoding: string | null): boolean =>
  contentEncoding === null || contentEncoding.toLowerCase() === "identity"

function isOfType(type: string, contentType: string | null): boolean {
  const [essence = "", ...parameters] = (contentType ?? "").toLowerCase().split(";")
  return essence.trim() === type && parameters.every((each) => /^\s*(charset="?utf-8"?)?\s*$/.test(each))
}
