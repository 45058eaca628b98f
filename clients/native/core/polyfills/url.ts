// URLs of services and of sign-in pages. It accepts fewer URLs than the URL standard, and reads those as the standard
// does: http and https without user information, with a host of letters, digits, dots and hyphens, an IPv4 address in its
// usual form, or `[::1]`.
const pattern = /^(https?):\/\/(\[::1\]|[a-z0-9.-]+)(?::(\d{1,5}))?(\/[^?#]*)?(\?[^#]*)?(#.*)?$/i
/** Without the characters that the standard encodes or, as the backslash, replaces. */
const plain = /^[!#-&(-;=?-[\]_a-z~]+$/i
/** The standard reads such a host as an IPv4 address, in whatever form. */
const isNumeric = /(^|\.)(\d+|0x[0-9a-f]*)\.?$/i
const isUsualIpv4 = /^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}$/
const defaultPorts: Readonly<Record<string, string>> = { http: "80", https: "443" }

/** application/x-www-form-urlencoded (URL standard section 5). */
class SearchParams {
  readonly #pairs: [string, string][]

  constructor(query: string) {
    const parts = query.replace(/^\?/, "").split("&")
    this.#pairs = parts
      .filter((part) => part !== "")
      .map((part) => {
        const [name = "", ...value] = part.split("=")
        return [decoded(name), decoded(value.join("="))]
      })
  }
  getAll(name: string): string[] {
    return this.#pairs.filter(([own]) => own === name).map(([, value]) => value)
  }
  get(name: string): string | null {
    return this.getAll(name)[0] ?? null
  }
  set(name: string, value: string): void {
    const first = this.#pairs.find(([own]) => own === name)
    if (first === undefined) {
      this.#pairs.push([name, value])
      return
    }
    first[1] = value
    const others = this.#pairs.filter((pair) => pair === first || pair[0] !== name)
    this.#pairs.splice(0, this.#pairs.length, ...others)
  }
  toString(): string {
    return this.#pairs.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join("&")
  }
}

const decoded = (text: string) => decodeURIComponent(text.replaceAll("+", " "))
const encoded = (text: string) =>
  encodeURIComponent(text)
    .replace(/[!'()~]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%20", "+")

export class URL {
  readonly protocol: string
  readonly username = ""
  readonly password = ""
  readonly hostname: string
  readonly port: string
  readonly pathname: string
  readonly hash: string
  readonly searchParams: SearchParams
  readonly #query: string
  readonly #queryBefore: string

  /** @throws TypeError for a text that is no such URL. */
  constructor(text: string) {
    const match = plain.test(text) ? pattern.exec(text) : null
    if (match === null) throw new TypeError("not a URL that this client uses")
    const [, scheme = "", host = "", port = "", path = "/", query = "", hash = ""] = match
    if (Number(port) > 65_535) throw new TypeError("the port of a URL is above 65535")
    if (isNumeric.test(host) && !isUsualIpv4.test(host)) throw new TypeError("the host of a URL is an unusual address")
    const name = scheme.toLowerCase()
    this.protocol = `${name}:`
    this.hostname = host.toLowerCase()
    this.port = port === "" || Number(port) === Number(defaultPorts[name]) ? "" : String(Number(port))
    this.pathname = path
    this.hash = hash === "#" ? "" : hash
    this.#query = query === "?" ? "" : query
    this.searchParams = new SearchParams(this.#query)
    this.#queryBefore = this.searchParams.toString()
  }

  static canParse(text: string): boolean {
    try {
      return new URL(text) !== undefined
    } catch {
      return false
    }
  }
  get search(): string {
    const now = this.searchParams.toString()
    if (now === this.#queryBefore) return this.#query
    return now === "" ? "" : `?${now}`
  }
  get host(): string {
    return this.port === "" ? this.hostname : `${this.hostname}:${this.port}`
  }
  get origin(): string {
    return `${this.protocol}//${this.host}`
  }
  get href(): string {
    return `${this.protocol}//${this.host}${this.pathname}${this.search}${this.hash}`
  }
  toString(): string {
    return this.href
  }
}
