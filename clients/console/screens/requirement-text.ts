// The requirement of a method, from the server's own API reference: its text is generated from the contract.
interface Operation {
  readonly operationId?: string
  readonly "x-signet-requires"?: unknown
}

interface Reference {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

let reference: Promise<Reference> | undefined

/** @param route A method as in the audit. @returns Empty if the reference does not have it. */
export async function requirementText(route: string, signal: AbortSignal): Promise<string> {
  reference ??= fetch("/openapi.json", { signal }).then((response) => response.json() as Promise<Reference>)
  try {
    const { paths } = await reference
    const id = route.split(".").at(-1)?.replace("/", "_") ?? ""
    const operations = Object.values(paths).flatMap((path) => Object.values(path))
    const found = operations.find(({ operationId }) => operationId === id)?.["x-signet-requires"]
    return found === undefined ? "" : textOf(found)
  } catch {
    reference = undefined
    return ""
  }
}

/** `{"allOf": {"of": [{"scope": "a"}]}}` as `scope a`. Other checks are shown as JSON. */
function textOf(requirement: unknown): string {
  if (typeof requirement !== "object" || requirement === null) return JSON.stringify(requirement)
  const [[check, value] = ["", undefined]] = Object.entries(requirement)
  const parts: unknown = typeof value === "object" && value !== null ? Reflect.get(value, "of") : undefined
  if (typeof value === "string") return `${check} ${value}`
  if (!Array.isArray(parts)) return JSON.stringify(requirement)
  if (check === "kinds") return parts.join(" or ")
  return parts.map(textOf).join(check === "anyOf" ? " or " : " and ")
}
