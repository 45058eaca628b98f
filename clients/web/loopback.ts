const names = ["localhost", "127.0.0.1"]

/**
 * The auth service's URL for this page. `localhost` and `127.0.0.1` are one machine but two sites, and a
 * SameSite=Strict cookie is not sent across sites, so the page's own host name is used.
 */
export function besidePage(authBaseUrl: string, page: string | undefined = globalThis.location?.hostname): string {
  const url = URL.canParse(authBaseUrl) ? new URL(authBaseUrl) : undefined
  if (url === undefined || page === undefined || page === url.hostname) return authBaseUrl
  if (url.protocol !== "http:" || !names.includes(page) || !names.includes(url.hostname)) return authBaseUrl
  return authBaseUrl.replace(`//${url.hostname}`, `//${page}`)
}
