import { defaultLimits, type Limits } from "@signet/kernel/limits/policy"
import { parseLimits } from "@signet/kernel/limits/settings"
import { maxCount } from "@signet/kernel/messaging/limits"
import { parseKey, parsePeppers } from "../../keys/key-settings.ts"
import type { Pepper } from "../../keys/secrets.ts"
import { type PushSettings, parsePushSettings } from "../../pushes/push-settings.ts"
import type { SettingTexts } from "./env.ts"

export interface Settings {
  readonly issuer: string
  readonly authUrl: string
  readonly authAudience: string
  readonly messagingAudience: string
  /** 32 bytes. */
  readonly rootKey: Uint8Array
  readonly allowedOrigins: ReadonlySet<string>
  /** Null disables limits: only in the development profile. */
  readonly limits: Limits | null
  /** Devices that a new conversation may have. */
  readonly leavesPerConversation: number
  /** Push hints; null disables them. */
  readonly push: PushSettings | null
  readonly isDevelopment: boolean
  readonly client: { readonly id: string; readonly secret: string }
  /** A 32-byte seed. */
  readonly receiptKey: Uint8Array
  readonly secrets: { readonly sealingKey: Uint8Array; readonly peppers: readonly Pepper[] }
}

/** All problems of the Worker's settings, in sentences for the operator, without values. */
export class SettingsError extends Error {
  override readonly name = "SettingsError"
}

/** @throws SettingsError with one sentence per line; such a Worker answers no call. */
export function parseSettings(env: SettingTexts): Settings {
  const problems: string[] = []
  const text = (name: keyof SettingTexts): string | undefined => {
    const value: unknown = env[name]
    if (value === undefined) return undefined
    if (typeof value === "string") return value.trim() || undefined
    problems.push(`${name} must be bound as a string.`)
    return undefined
  }
  const required = (name: keyof SettingTexts): string => {
    const value = text(name)
    if (value === undefined) problems.push(`${name} is missing.`)
    return value ?? ""
  }
  const key = (name: keyof SettingTexts): Uint8Array =>
    parseKey(name, required(name) || undefined, problems) ?? new Uint8Array(32)

  const profile = text("SIGNET_PROFILE") ?? "production"
  if (profile !== "production" && profile !== "development") {
    problems.push("SIGNET_PROFILE must be development or production.")
  }
  const isDevelopment = profile === "development"
  const address = (name: keyof SettingTexts, value: string): string => {
    if (value !== "") problems.push(...judgeAddress(name, value, isDevelopment))
    return value
  }
  const issuer = address("SIGNET_ISSUER", required("SIGNET_ISSUER"))
  const authAudience = text("SIGNET_AUTH_AUDIENCE") ?? "auth"
  const peppers = parsePeppers(required("SIGNET_PEPPERS") || undefined, problems)
  const settings: Settings = {
    issuer,
    authUrl: address("SIGNET_AUTH_URL", text("SIGNET_AUTH_URL") ?? issuer),
    authAudience,
    messagingAudience: text("SIGNET_MESSAGING_AUDIENCE") ?? authAudience,
    rootKey: key("SIGNET_ROOT_KEY"),
    allowedOrigins: originsOf(text("SIGNET_ALLOWED_ORIGINS"), problems),
    limits: limitsOf(text("SIGNET_LIMITS"), isDevelopment, problems),
    leavesPerConversation: leavesOf(text("SIGNET_CONVERSATION_LEAVES"), problems),
    push: parsePushSettings(
      { hosts: text("SIGNET_PUSH_HOSTS"), key: text("SIGNET_PUSH_KEY"), contact: text("SIGNET_PUSH_CONTACT") },
      isDevelopment,
      problems,
    ),
    isDevelopment,
    client: { id: required("SIGNET_CLIENT_ID"), secret: required("SIGNET_CLIENT_SECRET") },
    receiptKey: key("SIGNET_RECEIPT_KEY"),
    secrets: { sealingKey: key("SIGNET_SEALING_KEY"), peppers },
  }
  if (problems.length > 0) throw new SettingsError(problems.join("\n"))
  return settings
}

function judgeAddress(name: string, value: string, isDevelopment: boolean): string[] {
  if (!URL.canParse(value)) return [`${name} must be a URL.`]
  const { origin, protocol } = new URL(value)
  if (origin !== value) return [`${name} must be an origin: scheme, host and port, without a trailing slash.`]
  if (protocol !== "https:" && !isDevelopment) return [`${name} must be https.`]
  return []
}

function originsOf(text: string | undefined, problems: string[]): ReadonlySet<string> {
  const origins = (text ?? "").split(",").flatMap((each) => each.trim() || [])
  if (origins.some((each) => !URL.canParse(each) || new URL(each).origin !== each)) {
    problems.push("SIGNET_ALLOWED_ORIGINS must be comma-separated origins, such as https://app.example.")
  }
  return new Set(origins)
}

function leavesOf(text: string | undefined, problems: string[]): number {
  const { default: fallback, most } = maxCount.leaves
  const value = Number(text ?? fallback)
  if (Number.isInteger(value) && value >= 2 && value <= most) return value
  problems.push(`SIGNET_CONVERSATION_LEAVES must be an integer from 2 to ${most}.`)
  return fallback
}

function limitsOf(text: string | undefined, isDevelopment: boolean, problems: string[]): Limits | null {
  if (text === undefined) return defaultLimits
  if (text === "off") {
    if (!isDevelopment) problems.push("SIGNET_LIMITS can be off only in the development profile.")
    return null
  }
  const parsed = parseLimits(text)
  if (!("problems" in parsed)) return parsed
  problems.push(...parsed.problems.map((problem) => `SIGNET_LIMITS: ${problem}`))
  return defaultLimits
}
