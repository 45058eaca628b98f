// signet-server admin config: the settings as the server reads them, without secrets.
import { type Environment, parseConfig } from "../config.ts"
import { settings } from "../settings.ts"
import { type CommandOutput, UsageError } from "./command.ts"

export const configUsage = `config
    Prints every setting with its value or its default, and checks them as a start does. Secrets are masked.`

/** Never printed, not even in part. */
const secrets: ReadonlySet<string> = new Set([
  "SIGNET_SEALING_KEY",
  "SIGNET_SEALING_KEY_NEXT",
  "SIGNET_PEPPERS",
  "SIGNET_PUSH_KEY",
  "SIGNET_BLOBS_SECRET",
])

const masked = "(set)"

/** A URL may have a password, also in its query. */
const withoutPassword = (value: string): string =>
  value.replace(/:\/\/[^/?#]*@/, "://…@").replaceAll(/([?&](?:password|sslpassword|token|key)=)[^&]*/gi, "$1…")

/** @throws ConfigError for invalid settings. UsageError for arguments. */
export function showConfig(args: readonly string[], env: Environment): CommandOutput {
  if (args.length > 0) throw new UsageError(configUsage)
  parseConfig(env)
  const rows = settings.map(({ name, default: fallback }) => {
    const value = env[name]?.trim() || undefined
    const shown = value === undefined ? fallback : secrets.has(name) ? masked : withoutPassword(value)
    return { name, value: shown, isDefault: value === undefined }
  })
  const width = Math.max(...rows.map(({ name }) => name.length))
  const lines = rows.map(
    ({ name, value, isDefault }) => `${name.padEnd(width)}  ${value}${isDefault ? "  (default)" : ""}`,
  )
  return { text: lines.join("\n"), json: { settings: rows } }
}
