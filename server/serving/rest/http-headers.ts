/** Whether a body is JSON as it stands: `application/json`, in UTF-8 if it says so, and not compressed. */
export function isJson(contentType: string | null, contentEncoding: string | null): boolean {
  return isPlain(contentEncoding) && isOfType("application/json", contentType)
}

/** Whether a body is a form as it stands: in UTF-8 if it says so, and not compressed. */
export function isForm(contentType: string | null, contentEncoding: string | null): boolean {
  return isPlain(contentEncoding) && isOfType("application/x-www-form-urlencoded", contentType)
}

const isPlain = (contentEncoding: string | null): boolean =>
  contentEncoding === null || contentEncoding.toLowerCase() === "identity"

function isOfType(type: string, contentType: string | null): boolean {
  const [essence = "", ...parameters] = (contentType ?? "").toLowerCase().split(";")
  return essence.trim() === type && parameters.every((each) => /^\s*(charset="?utf-8"?)?\s*$/.test(each))
}
