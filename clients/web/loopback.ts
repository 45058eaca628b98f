const names = ["localhost", "127.0.0.1"]

/**
 * The auth service's address as this page should call it. `localhost` and `127.0.0.1` are one machine and two sites, and a
 * cookie with SameSite=Strict does not travel between sites: between the two, the page's own name is used.
 */
export function besidePage(authBaseUrl: string, page: string | undefined = globalThis.location?.hostname): string {
  const url = URL.canParse(authBaseUrl) ? new URL(authBaseUrl) : undefined
  if (url === undefined || page === undefined || page === url.hostname) return authBaseUrl
  if (url.protocol !== "http:" || !names.includes(page) || !names.includes(url.hostname)) return authBaseUrl
  return authBaseUrl.replace(`//${url.hostname}`, `//${page}`)
}
