// The server's settings for the console, and the app that the person administers.
export interface Settings {
  readonly appId: string
  readonly isDevelopment: boolean
  readonly issuer: string
  readonly authAudience: string
  readonly messagingAudience: string
  /** Base64url; null outside of the development profile. */
  readonly issuerRootKey: string | null
  /** The origin of a second messaging backend; null without one. */
  readonly secondBackend: string | null
}

/** @throws Error if the server does not answer. */
export async function loadSettings(): Promise<Settings> {
  const response = await fetch("/console/settings.json", { headers: { accept: "application/json" } })
  if (!response.ok) throw new Error(`the console's settings were refused with ${response.status}`)
  return response.json() as Promise<Settings>
}

const chosenApp = "signet.console.app"
const id = "_[0-9a-hjkmnp-tv-z]{26}"

export const isAppId = (text: string): boolean => new RegExp(`^app${id}$`).test(text)

/** The app that the person chose in this browser, or the server's own choice. */
export function readAppId(settings: Settings): string {
  const chosen = localStorage.getItem(chosenApp)
  return chosen !== null && isAppId(chosen) ? chosen : settings.appId
}

export function writeAppId(settings: Settings, appId: string): void {
  if (appId === settings.appId) localStorage.removeItem(chosenApp)
  else localStorage.setItem(chosenApp, appId)
}

const chosenPlace = "signet.console.tenant"

/** A tenant, a context, or a context of a tenant, as a sign-in takes it. */
type Place = { readonly tenantId?: string; readonly contextId?: string }

/** @param text `ten_…`, `ctx_…`, `ten_…/ctx_…`, or empty for the app as a whole. @returns Undefined for another text. */
export function parsePlace(text: string): Place | undefined {
  const found = new RegExp(`^(ten${id})?(?:(?:^|/)(ctx${id}))?$`).exec(text)
  if (found === null) return undefined
  const [, tenantId, contextId] = found
  return { ...(tenantId && { tenantId }), ...(contextId && { contextId }) }
}

/** The place of a link's `sign-in` parameter, or of the last sign-in in this browser; empty for none. */
export function readPlace(): string {
  const chosen = new URLSearchParams(location.search).get("sign-in") || localStorage.getItem(chosenPlace) || ""
  return parsePlace(chosen) ? chosen : ""
}

export function writePlace({
  tenantId = "",
  contextId = "",
}: { [Name in keyof Place]: Place[Name] | undefined }): void {
  const text = [tenantId, contextId].filter(Boolean).join("/")
  if (text === "") localStorage.removeItem(chosenPlace)
  else localStorage.setItem(chosenPlace, text)
}
