import type { DescField, DescMethod } from "@bufbuild/protobuf"
import { errorTable, type OperationError } from "./errors.ts"
import type { Examples } from "./examples.ts"
import { descriptionOf, isPlain, type Plain, type ReadOption } from "./options.ts"
import type { Schemas } from "./schemas.ts"

/** An operation, and its position in `paths`. */
export interface Operation {
  path: string
  verb: string
  body: Plain
}

/** The inputs of operations. */
export interface Parts {
  readonly read: ReadOption
  readonly schemas: Schemas
  readonly examples: Examples
  readonly errorsOf: (method: DescMethod, isForm: boolean) => readonly OperationError[]
}

const verbs = ["get", "put", "post", "delete", "patch"]

/** The HTTP forms of a method. */
export function operationsOf(method: DescMethod, parts: Parts): Operation[] {
  const rule = parts.read(method, "google.api.http")
  if (!isPlain(rule)) return []
  const more = Array.isArray(rule.additional_bindings) ? rule.additional_bindings.filter(isPlain) : []
  return [rule, ...more].map((each, index) => operation(method, each, index, parts))
}

function operation(method: DescMethod, rule: Plain, index: number, parts: Parts): Operation {
  const { read, schemas, examples } = parts
  const verb = verbs.find((name) => name in rule) ?? ""
  const inPath: DescField[] = []
  const parameters: Plain[] = []
  const path = String(rule[verb]).replace(/\{(\w+)(?:=([^}]*))?\}/g, (_, name: string, literal: string | undefined) => {
    const field = method.input.fields.find((each) => each.name === name)
    if (field === undefined) throw new Error(`${method.name}: no field ${name}`)
    inPath.push(field)
    if (literal !== undefined) return literal
    const example = examples.field(field, true)
    parameters.push({ name: field.jsonName, in: "path", required: true, schema: schemas.fieldSchema(field), example })
    return `{${field.jsonName}}`
  })
  const rest = method.input.fields.filter((field) => !inPath.includes(field))
  const isForm = isFormMethod(method, read)
  const errors = parts.errorsOf(method, isForm)
  const refusal = isForm ? "OAuthError" : "Problem"
  if (rule.body !== "*") {
    const query = examples.request(method, rest)
    for (const field of rest) {
      const example = query[field.jsonName]
      const shown = example === undefined ? {} : { example }
      parameters.push({ name: field.jsonName, in: "query", schema: schemas.fieldSchema(field), ...shown })
    }
  }
  for (const field of rest) {
    const name = read(field, "signet.api.v1.header")
    if (name !== undefined) parameters.push({ name, in: "header", schema: schemas.fieldSchema(field) })
  }
  const body: Plain = {
    operationId: `${method.parent.name}_${method.name}${index > 0 ? `_${index + 1}` : ""}`,
    tags: [method.parent.name],
    summary: summaryOf(method),
    description: `${aboutOf(method)}\n\n${errorTable(errors)}`.trim(),
    ...security(read(method, "signet.authz.v1.requires")),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(rule.body === "*" ? { requestBody: requestBody(method, rest, inPath.length > 0, isForm, parts) } : {}),
    "x-signet-errors": errors.map(({ meaning: _, ...error }) => error),
    responses: { ...success(method, parts), default: { $ref: `#/components/responses/${refusal}` } },
  }
  return { path, verb, body }
}

/** The comment without requirement, path and errors, which have fields of their own in the document. */
function aboutOf(method: DescMethod): string {
  const [about = ""] = (descriptionOf(method).description ?? "").split(/^(?:Requires|Errors):/m)
  return about.trim()
}

/** The first sentence of the comment, without its full stop. */
function summaryOf(method: DescMethod): string {
  const [sentence = ""] = aboutOf(method)
    .replaceAll(/\s+/g, " ")
    .split(/\.(?: |$)|[:;] /)
  return sentence.trim()
}

const isFormMethod = (method: DescMethod, read: ReadOption): boolean => {
  const wire = read(method, "signet.api.v1.wire")
  return isPlain(wire) && wire.form === true
}

function requestBody(
  method: DescMethod,
  fields: readonly DescField[],
  isPart: boolean,
  isForm: boolean,
  { schemas, examples }: Parts,
): Plain {
  const mediaType = isForm ? "application/x-www-form-urlencoded" : "application/json"
  const schema = isPart ? schemas.objectSchema(method.input, fields) : schemas.reference(method.input)
  return {
    required: "required" in schema,
    content: { [mediaType]: { schema, example: examples.request(method, fields) } },
  }
}

function success(method: DescMethod, { read, schemas, examples }: Parts): Plain {
  const { output } = method
  const description = descriptionOf(output).description ?? "Done."
  if (output.fields.length === 0) return { [isFormMethod(method, read) ? 200 : 204]: { description } }
  const wire = read(method, "signet.api.v1.wire")
  const mediaType = (isPlain(wire) && wire.media_type) || "application/json"
  const content = { schema: schemas.reference(output), example: examples.response(output) }
  return { 200: { description, content: { [String(mediaType)]: content } } }
}

/** A method's requirement, in OpenAPI's terms and in full. */
function security(requirement: unknown): Plain {
  if (!isPlain(requirement)) throw new Error("a method without a requirement")
  const bearer = { bearer: [] }
  const schemes = requirement.public ? [] : requirement.body_credential ? [{}, bearer] : [bearer]
  return { security: schemes, "x-signet-requires": requirement }
}
