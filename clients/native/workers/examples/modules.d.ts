// The parts of Cloudflare's types that the example uses: all of them exclude those of a browser, which the core has.

declare module "cloudflare:workers" {
  import type { ObjectStorage } from "@signet/client-native/workers"

  export class DurableObject<Env> {
    protected readonly ctx: { readonly storage: ObjectStorage & { setAlarm(timeMs: number): Promise<void> } }
    protected readonly env: Env
    alarm?(): Promise<void>
  }
}

interface DurableObjectNamespace<T> {
  getByName(name: string): T
}

declare module "*.wasm" {
  const module: WebAssembly.Module
  export default module
}

declare module "*.bc" {
  const bytes: ArrayBuffer
  export default bytes
}
