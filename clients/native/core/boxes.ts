// The secret box over the host's held keys. Sealed bytes are the core's; keys never are.
import {
  type HeldBox,
  isSecretBoxError,
  type SecretBox,
  type SecretBoxDescription,
  type SecretScope,
} from "../../core/secret-box.ts"
import { boxError } from "./box-failure.ts"
import { perform } from "./effects.ts"
import { bytesFrom, HostError, primitive } from "./host.ts"
import { invoke } from "./invoke.ts"

type Operation = typeof primitive.BOX_SEAL | typeof primitive.BOX_OPEN

export interface HostBox extends SecretBox {
  hold(scope: SecretScope): HeldBox
  /** The held box of the open messenger, whose scope has its signing root. @throws HostError without one. */
  signingBox(): number
  /** Drops every held box. */
  releaseAll(): Promise<void>
}

/** A device's scope is held while its messenger is open. Any other scope is held for one operation. */
export function createHostBox(description: SecretBoxDescription): HostBox {
  /** The held boxes of devices. */
  const held = new Map<string, Promise<number>>()
  let signing: number | undefined

  const isDevice = ({ device }: SecretScope) => device !== undefined

  function take(scope: SecretScope, create: boolean): Promise<number> {
    const name = nameOf(scope)
    const known = held.get(name)
    if (known !== undefined) return known
    const taken = hold(scope, create)
    held.set(name, taken)
    taken.then(
      (box) => {
        signing = box
      },
      () => held.delete(name),
    )
    return taken
  }

  const drop = (scope: SecretScope) => dropNamed(nameOf(scope))

  async function dropNamed(name: string): Promise<void> {
    const known = held.get(name)
    if (known === undefined) return
    held.delete(name)
    const box = await known.catch(() => undefined)
    if (box === undefined) return
    if (signing === box) signing = undefined
    await letGo(box)
  }

  async function withBox<T>(scope: SecretScope, create: boolean, work: (box: number) => Promise<T>): Promise<T> {
    if (isDevice(scope)) return work(await take(scope, create))
    const box = await hold(scope, create)
    try {
      return await work(box)
    } finally {
      await letGo(box)
    }
  }

  const seal = (scope: SecretScope, purpose: string, plaintext: Uint8Array) =>
    withBox(scope, false, (box) => run(primitive.BOX_SEAL, box, purpose, plaintext))

  async function open(scope: SecretScope, purpose: string, sealed: Uint8Array): Promise<Uint8Array> {
    const once = () => withBox(scope, false, (box) => run(primitive.BOX_OPEN, box, purpose, sealed))
    try {
      return await once()
    } catch (error) {
      if (!isDevice(scope) || !isSecretBoxError(error, "SECURE_STORE_CHANGED")) throw error
      // Another process may have created a newer key since.
      await drop(scope)
      return once()
    }
  }

  return {
    describe: () => description,
    createKey: (scope) => withBox(scope, true, async () => undefined),
    seal,
    open,
    async rotate(scope) {
      await drop(scope)
      await perform({ case: "boxRotate", value: { scope } }, "done")
    },
    async destroy(scope) {
      await drop(scope)
      await perform({ case: "boxDestroy", value: { scope } }, "done")
    },
    hold: (scope) => ({
      seal: (purpose, plaintext) => seal(scope, purpose, plaintext),
      open: (purpose, sealed) => open(scope, purpose, sealed),
      release: () => void drop(scope).catch(() => undefined),
    }),
    signingBox() {
      if (signing === undefined) throw new HostError("HOST_REFUSED", "no box with a signing root is held")
      return signing
    },
    async releaseAll() {
      await Promise.all([...held.keys()].map(dropNamed))
    },
  }
}

const nameOf = ({ tenant, app, user, device }: SecretScope) =>
  JSON.stringify([tenant ?? null, app, user ?? null, device ?? null])

async function hold(scope: SecretScope, create: boolean): Promise<number> {
  const { box } = await perform({ case: "boxHold", value: { scope, create } }, "boxHold")
  return box
}

async function letGo(box: number): Promise<void> {
  await perform({ case: "boxRelease", value: { box } }, "done")
}

async function run(operation: Operation, box: number, purpose: string, bytes: Uint8Array): Promise<Uint8Array> {
  const made = await invoke(operation, box, purpose, bytes)
  if (typeof made === "number") throw boxError(made)
  return bytesFrom(made, operation)
}
