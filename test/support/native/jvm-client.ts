// The steps of a client on the JVM with a deployment.
import type { Deployment } from "../edge-server.ts"
import type { JvmMember } from "./jvm.ts"

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

export interface JvmClient {
  /** Signs the subject in. @returns The user's id. */
  signIn(member: JvmMember, subject: string): Promise<string>
  /** @returns The device's id. */
  openMessenger(member: JvmMember): Promise<string>
  /** Opens with a secret box of the program, by the name of its class. */
  openBoxed(member: JvmMember, folder: string, box: string, keys: string): Promise<void>
  /** The texts of a conversation. */
  texts(member: JvmMember, id: string): Promise<string[]>
  /** The outcome of a peek, and the texts of its previews. */
  peek(member: JvmMember): Promise<string[]>
}

const textOf = (hex: string) => Buffer.from(hex, "hex").toString()

export const jvmClientOn = (server: Deployment): JvmClient => ({
  async signIn(member, subject) {
    const { credential, nonce = "" } = await server.login(subject)
    const idToken = credential?.case === "idToken" ? credential.value : ""
    return member.succeed("signIn", utf8(nonce), utf8(idToken))
  },
  openMessenger: (member) =>
    member.succeed("messenger", server.messagingUrl, server.audience, new Uint8Array(server.issuerRootKey)),
  async openBoxed(member, folder, box, keys) {
    await member.succeed("boxed", folder, box, server.app.id, server.url, server.audience, keys)
  },
  texts: async (member, id) => (await member.succeed("texts", id)).split(" ").map(textOf),
  async peek(member) {
    const rootKey = new Uint8Array(server.issuerRootKey)
    const answer = await member.succeed("peek", server.messagingUrl, server.audience, rootKey)
    const [outcome = "", ...texts] = answer.split(" ")
    return [outcome, ...texts.map(textOf)]
  },
})
