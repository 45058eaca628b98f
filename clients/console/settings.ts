// The server's settings for the console, and the app that the person administers.
export interface Settings {
  readonly appId: string
  readonly isDevelopment: boolean
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
const isId = (prefix: string, text: string): boolean => new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`).test(text)

export const isAppId = (text: string): boolean => isId("app", text)
export const isTenantId = (text: string): boolean => isId("ten", text)

/** The app that the person chose in this browser, or the server's own choice. */
export function readAppId(settings: Settings): string {
  const chosen = localStorage.getItem(chosenApp)
  return chosen !== null && isAppId(chosen) ? chosen : settings.appId
}

export function writeAppId(settings: Settings, appId: string): void {
  if (appId === settings.appId) localStorage.removeItem(chosenApp)
  else localStorage.setItem(chosenApp, appId)
}

const chosenTenant = "signet.console.tenant"

/** The tenant of a link's `sign-in` parameter, or of the last sign-in in this browser; empty for none. */
export function readTenantId(): string {
  const linked = new URLSearchParams(location.search).get("sign-in") ?? ""
  const chosen = linked || (localStorage.getItem(chosenTenant) ?? "")
  return isTenantId(chosen) ? chosen : ""
}

/** @param tenantId Empty for the app as a whole. */
export function writeTenantId(tenantId: string): void {
  if (tenantId === "") localStorage.removeItem(chosenTenant)
  else localStorage.setItem(chosenTenant, tenantId)
}
