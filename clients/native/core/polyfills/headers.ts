type Init = Headers | Iterable<readonly [string, string]> | Readonly<Record<string, string>> | null | undefined

/** Headers (Fetch standard section 2.2), without checks of names: the host checks what it sends. */
export class Headers {
  readonly #values = new Map<string, string>()

  constructor(init?: Init) {
    if (init === undefined || init === null) return
    const entries = Symbol.iterator in init && typeof init[Symbol.iterator] === "function" ? init : Object.entries(init)
    for (const [name, value] of entries as Iterable<readonly [string, string]>) this.append(name, value)
  }

  append(name: string, value: string): void {
    const before = this.get(name)
    this.set(name, before === null ? value : `${before}, ${value}`)
  }
  set(name: string, value: string): void {
    this.#values.set(name.toLowerCase(), String(value))
  }
  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null
  }
  has(name: string): boolean {
    return this.#values.has(name.toLowerCase())
  }
  delete(name: string): void {
    this.#values.delete(name.toLowerCase())
  }
  forEach(visit: (value: string, name: string, headers: Headers) => void): void {
    for (const [name, value] of this.#values) visit(value, name, this)
  }
  entries(): IterableIterator<[string, string]> {
    return this.#values.entries()
  }
  keys(): IterableIterator<string> {
    return this.#values.keys()
  }
  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.#values.entries()
  }
}
