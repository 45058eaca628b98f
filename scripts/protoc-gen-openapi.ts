#!/usr/bin/env node
// Writes gen/openapi/openapi.json: OpenAPI 3.1 of the methods with an HTTP form. Paths, rules and requirements are from
// the options that the server reads.
import { readFileSync } from "node:fs"
import { createEcmaScriptPlugin, runNodeJs, type Schema } from "@bufbuild/protoplugin"
import { createErrors } from "./openapi/errors.ts"
import { createExamples } from "./openapi/examples.ts"
import { type Operation, operationsOf } from "./openapi/operations.ts"
import { descriptionOf, optionReader, type Plain } from "./openapi/options.ts"
import { createSchemas, type Schemas } from "./openapi/schemas.ts"

const title = "Signet"
const summary = "Identity, authorization and end-to-end messaging for all of a company's apps."
const introduction = readFileSync(new URL("openapi/introduction.md", import.meta.url), "utf8").trim()
const version = "v1"

function openApi(schema: Schema): Plain | undefined {
  const read = optionReader(schema)
  const schemas = createSchemas(read)
  const services = schema.files.flatMap((file) => file.services)
  const parts = { read, schemas, examples: createExamples(read), errorsOf: createErrors(schema, read) }
  const operations = services.flatMap((service) => service.methods.flatMap((method) => operationsOf(method, parts)))
  if (operations.length === 0) return undefined
  const tags = services
    .filter(({ name }) => operations.some(({ body }) => Array.isArray(body.tags) && body.tags.includes(name)))
    .map((service) => ({ name: service.name, ...descriptionOf(service) }))
  return {
    openapi: "3.1.0",
    info: {
      title,
      version,
      summary,
      description: introduction,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    tags,
    paths: pathsOf(operations),
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT (RFC 9068)" } },
      responses: {
        Problem: {
          description: "A refusal (RFC 9457). `reason` is the same over every protocol.",
          content: { "application/problem+json": { schema: problem(schema) } },
        },
        OAuthError: {
          description: "A refusal (RFC 6749 section 5.2), with the reason of every other protocol.",
          content: { "application/json": { schema: oauthError(schema) } },
        },
      },
      schemas: sorted(schemas.components),
    },
  }
}

function pathsOf(operations: readonly Operation[]): Record<string, Plain> {
  const paths: Record<string, Plain> = {}
  for (const { path, verb, body } of operations) {
    const item = paths[path] ?? {}
    paths[path] = item
    if (verb in item) throw new Error(`two methods claim ${verb} ${path}`)
    item[verb] = body
  }
  return paths
}

const sorted = (of: Schemas["components"]): Plain =>
  Object.fromEntries(Object.entries(of).sort(([a], [b]) => (a < b ? -1 : 1)))

const text = { type: "string" }

function reasonSchema(schema: Schema): Plain {
  const reasons = schema.allFiles
    .flatMap((file) => file.enums)
    .find((each) => each.typeName === "signet.authz.v1.Reason")
  return { ...text, enum: reasons?.values.filter(({ number }) => number !== 0).map(({ name }) => name) ?? [] }
}

function oauthError(schema: Schema): Plain {
  return {
    type: "object",
    title: "OAuthError",
    required: ["error", "error_description", "reason", "trace_id"],
    properties: { error: text, error_description: text, reason: reasonSchema(schema), trace_id: text },
  }
}

function problem(schema: Schema): Plain {
  return {
    type: "object",
    title: "Problem",
    required: ["type", "title", "status", "detail", "instance", "reason", "domain", "metadata"],
    properties: {
      type: { ...text, format: "uri" },
      title: text,
      status: { type: "integer" },
      detail: text,
      instance: { ...text, description: "`urn:request:` and the id that the log has, too." },
      reason: reasonSchema(schema),
      domain: { const: "signet" },
      metadata: { type: "object", additionalProperties: text },
      errors: {
        type: "array",
        items: { type: "object", required: ["field", "detail"], properties: { field: text, detail: text } },
      },
      details: {
        type: "array",
        description: "What a client acts on: a message, in base64 of its binary form, and as JSON.",
        items: {
          type: "object",
          required: ["type", "value", "debug"],
          properties: { type: text, value: { ...text, contentEncoding: "base64" }, debug: { type: "object" } },
        },
      },
    },
  }
}

runNodeJs(
  createEcmaScriptPlugin({
    name: "protoc-gen-openapi",
    version,
    generateTs(schema) {
      const document = openApi(schema)
      if (document) schema.generateFile("openapi.json").print(JSON.stringify(document, undefined, 2))
    },
  }),
)
