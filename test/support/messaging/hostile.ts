// A hostile server with a hostile member, and a messenger that must detect both.

import { storyStore } from "../postgres.ts"
import { newDevice, type TestDevice } from "./device.ts"
import { type LyingTransport, lyingTransport } from "./lying-transport.ts"
import { messengersOn, type OpenedMessenger } from "./messengers.ts"
import { type MessagingServer, startMessagingServer } from "./test-server.ts"

export interface HostileWorld {
  readonly server: MessagingServer
  /** A member that colludes with the server. */
  readonly mallory: TestDevice
  /** A device that nobody added. */
  readonly ghost: TestDevice
  /** The messenger under attack, whose calls use `transport`. */
  readonly ann: OpenedMessenger
  readonly transport: LyingTransport
  close(): Promise<void>
}

export async function startHostileWorld(): Promise<HostileWorld> {
  const server = await startMessagingServer({ store: storyStore })
  const messengers = messengersOn(server)
  const testDevice = async (name: string) => {
    const device = await newDevice(messengers.transport, await server.person(name))
    await device.register()
    await device.upload(2)
    return device
  }
  const mallory = await testDevice("mallory")
  const ghost = await testDevice("ghost")
  const transport = lyingTransport(messengers.transport)
  const ann = await messengers.newcomer("ann", { transport })
  return {
    server,
    mallory,
    ghost,
    ann,
    transport,
    async close() {
      await messengers.close()
      await server.close()
    },
  }
}

/** For an authority in this process, which needs no evidence. */
export const noEvidence = (): Promise<never> => Promise.reject(new Error("no evidence is asked for"))

/** A key package that a device created but did not upload. */
export async function newKeyPackage(device: TestDevice): Promise<{ keyPackage: Uint8Array; reference: Uint8Array }> {
  const [made] = await device.newKeyPackages(1)
  if (made === undefined) throw new Error("no key package")
  return made
}
