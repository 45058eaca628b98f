// Structured logs that cannot hold a secret: a line is built from a closed list of fields, each of a shape that has no
// room for one. Whatever else is handed in, by us or by a library, is dropped.
import { type Logger, pino } from "pino"

/** The shapes that fields may have. */
const word = /^[A-Za-z0-9_.:/-]{1,120}$/
const sentence = /^[a-z][a-z ,;']{0,80}$/
const url = /^https?:\/\/[A-Za-z0-9.:[\]-]+\/?$/

const text = (shape: RegExp) => (value: unknown) => (typeof value === "string" && shape.test(value) ? value : undefined)
const number = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? value : undefined)
const words = (value: unknown) =>
  Array.isArray(value) ? value.slice(0, 50).filter((item) => text(word)(item) !== undefined) : undefined

const fields: Record<string, (value: unknown) => unknown> = {
  method: text(word),
  rpc: text(word),
  outcome: text(/^[A-Z_]{2,40}$/),
  requestId: text(/^[0-9a-f-]{36}$/),
  reqId: text(/^[0-9a-f-]{36}$/),
  traceId: text(/^[0-9a-f]{32}$/),
  durationMs: number,
  status: number,
  port: number,
  url: text(url),
  profile: text(word),
  migrations: words,
  services: words,
  signal: text(/^SIG[A-Z]+$/),
  err: faultFields,
}

/**
 * What is logged of a fault: its kind, its code and where it was thrown. Not its message: a database tells the row that
 * it does not like, a parser the text.
 */
export function faultFields(fault: unknown): object {
  if (!(fault instanceof Error)) return { name: typeof fault }
  const code = "code" in fault ? text(/^[A-Z0-9_]{2,40}$/)(fault.code) : undefined
  // Without the message, which may have lines of its own.
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
 * The program's log, one JSON object a line, for Fastify's `loggerInstance` too.
 *
 * @param write Where lines go; standard output unless told otherwise.
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
  // Fastify makes one for each request.
  const { child } = log
  Object.defineProperty(log, "child", {
    value(this: Logger, bindings: unknown) {
      return child.call(this, closed(bindings))
    },
  })
  return log
}
