// The errors of an operation: those that its comment lists, and those that its requirement and fields imply.
import type { DescMethod } from "@bufbuild/protobuf"
import { getComments, type Schema } from "@bufbuild/protoplugin"
import { type Reason, refusals } from "../../server/kernel/errors.ts"
import { oauthErrorOf, oauthErrors } from "../../server/kernel/token/oauth-error.ts"
import { isPlain, type Plain, type ReadOption } from "./options.ts"

const isReason = (word: string): word is Reason => Object.hasOwn(refusals, word)

export interface OperationError {
  readonly http: number
  readonly code: string
  readonly reason: Reason
  readonly meaning: string
  /** The RFC 6749 error code, for operations with RFC 6749 errors. */
  readonly error?: string
}

/** The reasons of a comment's `Errors:` list, each with its note. @throws Error for an unknown reason. */
function listedErrors(name: string, comment: string): Map<Reason, string> {
  const [, list = ""] = comment.split(/^Errors:$/m)
  const found = new Map<Reason, string>()
  for (const row of list.split(/\n(?= {2}[A-Z])/).filter((text) => text.trim() !== "")) {
    const [, code = "", rest = ""] = /^\s*([A-Z_]+)\s+([\s\S]+)$/.exec(row) ?? []
    for (const [, reason = "", note = ""] of rest
      .replaceAll(/\s+/g, " ")
      .matchAll(/([A-Z][A-Z_]+)(?: \(((?:[^()]|\([^()]*\))*)\))?(?:,|$)/g)) {
      if (!isReason(reason)) throw new Error(`${name}: ${reason} is not a reason`)
      if (refusals[reason].code.toUpperCase() !== code) throw new Error(`${name}: ${reason} has not the code ${code}`)
      found.set(reason, note)
    }
  }
  return found
}

/** The reasons that a method's requirement implies. */
function impliedErrors(requirement: unknown): Reason[] {
  if (!isPlain(requirement) || requirement.public === true) return []
  const reasons: Reason[] = []
  const visit = (check: Plain): void => {
    for (const name of ["all_of", "any_of"]) {
      const composite = check[name]
      if (isPlain(composite) && Array.isArray(composite.of)) composite.of.filter(isPlain).forEach(visit)
    }
    if (check.kinds !== undefined) reasons.push("PRINCIPAL_KIND_NOT_ALLOWED")
    if (check.scope !== undefined) reasons.push("MISSING_SCOPE")
    if (check.tenant !== undefined) reasons.push("TENANT_MISMATCH")
    if (check.device !== undefined) reasons.push("DEVICE_REQUIRED")
    if (Number(check.max_auth_age_seconds ?? 0) > 0) reasons.push("STEP_UP_REQUIRED")
  }
  visit(requirement)
  if (requirement.body_credential !== true) reasons.push("NO_CREDENTIAL", "TOKEN_EXPIRED", "SESSION_REVOKED")
  return reasons
}

/** Reads the meaning of each reason from the contract. */
export function createErrors(
  schema: Schema,
  read: ReadOption,
): (method: DescMethod, isForm: boolean) => OperationError[] {
  const meanings = new Map<string, string>()
  const reasons = schema.allFiles
    .flatMap((file) => file.enums)
    .find((each) => each.typeName === "signet.authz.v1.Reason")
  for (const value of reasons?.values ?? []) {
    const text = (getComments(value).leading ?? "").replaceAll(/\s+/g, " ").trim()
    meanings.set(value.name, text.replace(/^\d{3}\. /, ""))
  }
  return (method, isForm) => {
    const listed = listedErrors(`${method.parent.name}.${method.name}`, plainComment(method))
    for (const reason of impliedErrors(read(method, "signet.authz.v1.requires"))) {
      if (!listed.has(reason)) listed.set(reason, "")
    }
    const general: Reason[] = [...(method.input.fields.length > 0 ? (["INVALID_FIELD"] as const) : []), "UNAVAILABLE"]
    for (const reason of general) if (!listed.has(reason)) listed.set(reason, "")
    const errors = [...listed].map(([reason, note]): OperationError => {
      const { code, status } = refusals[reason]
      const known = meanings.get(reason) ?? ""
      const meaning = note === "" ? known : `${known} Here: ${note}.`
      const entry = { code: code.toUpperCase(), reason, meaning }
      if (!isForm) return { http: status, ...entry }
      const error = oauthErrorOf(reason, {})
      return { http: oauthErrors[error], ...entry, error }
    })
    return errors.sort((a, b) => a.http - b.http || (a.reason < b.reason ? -1 : 1))
  }
}

const plainComment = (method: DescMethod): string =>
  (getComments(method).leading ?? "").replaceAll(/^ /gm, "").replaceAll(/ +$/gm, "")

/** A Markdown table. */
export function errorTable(errors: readonly OperationError[]): string {
  const isForm = errors.some(({ error }) => error !== undefined)
  const rows = errors.map(({ http, code, reason, meaning, error }) => {
    const cells = [http, code, `\`${reason}\``, ...(isForm ? [`\`${error}\``] : []), meaning.replaceAll("|", "\\|")]
    return `| ${cells.join(" | ")} |`
  })
  const names = ["HTTP", "gRPC", "reason", ...(isForm ? ["error"] : []), "meaning"]
  const head = [`| ${names.join(" | ")} |`, `|${"---|".repeat(names.length)}`]
  return ["**Errors**", "", ...head, ...rows].join("\n")
}
