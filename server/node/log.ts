// Structured logs that cannot contain a secret: a line consists of a closed list of fields, whose patterns no secret
// matches. All other values, from this code or a library, are dropped.
import { type Logger, pino } from "pino"

/** Patterns of field values. */
const word = /^[A-Za-z0-9_.:/-]{1,120}$/
const sentence = /^[a-z][a-z ,;']{0,80}$/
const url = /^https?:\/\/[A-Za-z0-9.:[\]-]+\/?$/

const text = (shape: RegExp) => (value: unknown) => (typeof value === "string" && shape.test(value) ? value : undefined)
const number = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? value : undefined)
const words = (value: unknown) =>
  Array.isArray(value) ? value.slice(0, 50).filter((item) => text(word)(item) !== undefined) : undefined

/** docs/reference/operations.md lists them. */
export const fields: Readonly<Record<string, (value: unknown) => unknown>> = {
  method: text(word),
  rpc: text(word),
  outcome: text(/^[A-Z_]{2,40}$/),
  requestId: text(/^[0-9a-f-]{36}$/),
  reqId: text(/^[0-9a-f-]{36}$/),
  traceId: text(/^[0-9a-f]{32}$/),
  durationMs: number,
  status: number,
  worker: number,
  workers: number,
  port: number,
  url: text(url),
  profile: text(word),
  migrations: words,
  services: words,
  signal: text(/^SIG[A-Z]+$/),
  err: faultFields,
}

/**
 * The logged fields of a fault: kind, code and stack frames. Not its message, which may quote data: a database quotes
 * the offending row, a parser the text.
 */
function faultFields(fault: unknown): object {
  if (!(fault instanceof Error)) return { name: typeof fault }
  const code = "code" in fault ? text(/^[A-Z0-9_]{2,40}$/)(fault.code) : undefined
  // Remove the message, which may span several lines.
  const frames = (fault.stack ?? "")
    .replace(fault.message, "")
    .split("\n")
    .filter((line) => /^ {4}at /.test(line))
  return {
    name: text(word)(fault.name) ?? "Error",
    ...(code === undefined ? {} : { code }),
    at: frames.slice(0, 12).map((line) => line.trim()),
    ...(fault.cause === undefined ? {} : { cause: faultFields(fault.cause) }),
  }
}

function closed(given: unknown): Record<string, unknown> {
  const line: Record<string, unknown> = {}
  if (given instanceof Error) return { err: faultFields(given) }
  if (typeof given !== "object" || given === null) return line
  for (const [name, value] of Object.entries(given)) {
    const shaped = Object.hasOwn(fields, name) ? fields[name]?.(value) : undefined
    if (shaped !== undefined) line[name] = shaped
  }
  return line
}

/**
 * Creates the program's log, one JSON object per line; also for Fastify's `loggerInstance`.
 *
 * @param write Receives the lines; default is standard output.
 */
export function createLog(level: string, write?: (line: string) => void): Logger {
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: {},
      hooks: {
        logMethod([first, second], method) {
          const said = typeof first === "string" ? first : second
          method.call(this, closed(first), text(sentence)(said) ?? "")
        },
      },
      formatters: { level: (label) => ({ level: label }) },
    },
    write === undefined ? pino.destination(1) : { write },
  )
  // Fastify creates a child for each request.
  const { child } = log
  Object.defineProperty(log, "child", {
    value(this: Logger, bindings: unknown) {
      return child.call(this, closed(bindings))
    },
  })
  return log
}
