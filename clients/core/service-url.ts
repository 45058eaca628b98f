import { SignetError } from "./errors.ts"

/**
 * Checks a service URL: tokens require TLS, except on this machine.
 *
 * @throws SignetError CONFIGURATION_INVALID
 */
export function checkServiceUrl(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isSafe = url !== undefined && isTlsOrLoopback(url)
  const isPlain = url !== undefined && !url.username && !url.password && !url.search && !url.hash
  if (!isSafe || !isPlain || text.endsWith("/")) {
    throw new SignetError(
      "CONFIGURATION_INVALID",
      "a service URL must be https, without a trailing slash, query or credentials",
    )
  }
}

export const isTlsOrLoopback = ({ protocol, hostname }: URL): boolean =>
  protocol === "https:" || (protocol === "http:" && /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/.test(hostname))
