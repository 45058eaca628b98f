// Takes the place of the native side with what it did before: the same calls in the same order get the same outputs.
import type { NativeCore } from "../../native-client.ts"

export type Crossing =
  | { readonly to: readonly (string | number)[] }
  | { readonly from: readonly [kind: number, id: number, hex: string] }

declare global {
  // Of the program that runs the bundle.
  var transcript: readonly Crossing[]
  var lines: readonly string[]
}

const hex = (buffer: ArrayBuffer) =>
  [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("")
const unhex = (text: string) => Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)).buffer

function replayed(crossings: readonly Crossing[]): NativeCore {
  let at = 0
  let listener: Parameters<NativeCore["open"]>[2] = () => {}
  /** Checks the next crossing, and delivers the outputs that came after it. */
  function take(...passed: readonly (string | number)[]): void {
    const crossing = crossings[at]
    at += 1
    const expected = crossing !== undefined && "to" in crossing ? JSON.stringify(crossing.to) : "no call"
    if (JSON.stringify(passed) !== expected) throw new Error(`${JSON.stringify(passed)} in place of ${expected}`)
    void Promise.resolve().then(deliver)
  }
  function deliver(): void {
    for (;;) {
      const crossing = crossings[at]
      if (crossing === undefined || "to" in crossing) return
      at += 1
      const [kind, id, bytes] = crossing.from
      listener(kind, id, unhex(bytes))
    }
  }
  return {
    open(account, identity, given) {
      listener = given
      take("open", account, hex(identity))
      return {
        call(id, method, request) {
          take("call", id, method, hex(request))
          return 0
        },
        close: () => take("close"),
      }
    },
  }
}

// `print` is the one of Hermes: the types have that of a page.
globalThis.printLine = Object(globalThis).print
globalThis.__turboModuleProxy = () => ({ core: () => replayed(transcript) })
