// What a method requires, from the server's own API reference: its text is generated from the contract.
interface Operation {
  readonly operationId?: string
  readonly description?: string
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
    const { description = "" } = operations.find(({ operationId }) => operationId === id) ?? {}
    return /Requires:\*{0,2} ([^\n]+?)\.?(\n|$)/.exec(description)?.[1] ?? ""
  } catch {
    reference = undefined
    return ""
  }
}
