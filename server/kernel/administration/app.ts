// Rules for creating and changing an app.
import type { App, AppSettings } from "../records.ts"
import { isPageAddress, isRedirectAddress } from "./address.ts"
import { invalid, type Problem } from "./problem.ts"
import { appScopesProblem } from "./scopes.ts"

/** The fields of an app that administrators set. */
export type AppValues = Pick<App, "name" | "audiences" | "scopes" | "settings">

const day = 86_400

/** Lifetimes in seconds, used where the request does not set one. */
export const defaultSettings = {
  sessionIdleSecondsWeb: 14 * day,
  sessionIdleSecondsNative: 30 * day,
  sessionAbsoluteSeconds: 90 * day,
  retryWindowSeconds: 600,
} as const satisfies Partial<AppSettings>

/**
 * Fills in default lifetimes.
 *
 * @param asked A lifetime of 0 means the default. An absent retry window means the default; 0 switches retries off.
 */
export function settingsOf(
  asked: Omit<AppSettings, "retryWindowSeconds"> & { retryWindowSeconds: number | undefined },
): AppSettings {
  return {
    ...asked,
    sessionIdleSecondsWeb: asked.sessionIdleSecondsWeb || defaultSettings.sessionIdleSecondsWeb,
    sessionIdleSecondsNative: asked.sessionIdleSecondsNative || defaultSettings.sessionIdleSecondsNative,
    sessionAbsoluteSeconds: asked.sessionAbsoluteSeconds || defaultSettings.sessionAbsoluteSeconds,
    retryWindowSeconds: asked.retryWindowSeconds ?? defaultSettings.retryWindowSeconds,
  }
}

interface Grounds {
  /** Null for a new app. */
  readonly before: AppValues | null
  readonly authAudience: string
  readonly isInstallationAdmin: boolean
  /** Development only: allows loopback addresses. */
  readonly isLoopbackAllowed: boolean
}

/** Returns why the app's values are invalid or not allowed; undefined if they are valid. */
export function appProblem(asked: AppValues, grounds: Grounds): Problem | undefined {
  const { before, authAudience, isInstallationAdmin, isLoopbackAllowed } = grounds
  const { audiences, settings } = asked
  if (asked.name.trim() === "") return invalid("app.name")
  if (audiences.includes(authAudience) && !before?.audiences.includes(authAudience)) {
    return invalid("app.audiences", "the auth service's audience cannot be listed: it belongs to every app")
  }
  // A new audience lets the app obtain tokens for another service, and a principal is the same in every app. Only an
  // administrator of the installation may allow that.
  if (!isInstallationAdmin && !audiences.every((audience) => before?.audiences.includes(audience))) {
    const message = "only an administrator of the installation can add an audience"
    return { reason: "OUTPUT_ONLY_FIELD", field: "app.audiences", message }
  }
  if (!isInstallationAdmin && settings.managesIdentity !== (before?.settings.managesIdentity ?? false)) {
    const message = "an administrator of the installation says which apps change people's accounts"
    return { reason: "OUTPUT_ONLY_FIELD", field: "app.settings.manages_identity", message }
  }
  const scopes = { before: before?.scopes ?? [], audiences, authAudience, isInstallationAdmin }
  const problem = appScopesProblem(asked.scopes, scopes)
  if (problem !== undefined) return problem
  const isAllowed = (test: typeof isPageAddress, is: readonly string[], was: readonly string[] = []) =>
    is.every((address) => was.includes(address) || test(address, isLoopbackAllowed))
  if (!isAllowed(isPageAddress, settings.allowedOrigins, before?.settings.allowedOrigins)) {
    return invalid("app.settings.allowed_origins")
  }
  if (!isAllowed(isRedirectAddress, settings.allowedRedirectUris, before?.settings.allowedRedirectUris)) {
    return invalid("app.settings.allowed_redirect_uris")
  }
  return undefined
}
