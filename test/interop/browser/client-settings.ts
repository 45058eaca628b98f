/** What opens a client in a page or a worker. */
export interface ClientSettings {
  readonly appId: string
  readonly authBaseUrl: string
  /** How far the machine's clock is set forward. */
  readonly jumpMs: number
  /** The refresh token is sealed in IndexedDB, and in no cookie. */
  readonly hasBox?: boolean
}

const now = Date.now.bind(Date)

export function setClock(jumpMs: number): void {
  Date.now = () => now() + jumpMs
}
