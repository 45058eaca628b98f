// The chat programs of the READMEs, with the server that `npm start` runs.
import { join } from "node:path"
import { startProgram } from "../program.ts"
import { type JavaProgram, startJava } from "./jvm.ts"

export interface Chats {
  /** Starts the program for a user, with a folder of its own. */
  start(email: string, ...more: string[]): Promise<JavaProgram>
  end(): Promise<void>
}

/** @param java The arguments of `java` up to the program. */
export async function startChats(folder: string, ...java: string[]): Promise<Chats> {
  const server = await startProgram({ SIGNET_DATA: join(folder, "server"), PORT: "0" })
  const rootKey = /pin the root key (\S+)/.exec(server.output())?.[1] ?? ""
  const people: JavaProgram[] = []
  return {
    async start(email, ...more) {
      const request = { method: "POST", body: JSON.stringify({ email }) }
      const response = await fetch(`${server.url}/dev/idp-a/login-request`, request)
      const { appId, nonce, idToken } = (await response.json()) as Record<string, string>
      const args = [appId, Buffer.from(rootKey, "base64url").toString("hex"), nonce, idToken].map(String)
      const person = startJava(...java, join(folder, email), server.url, ...args, ...more)
      people.push(person)
      return person
    },
    async end() {
      for (const person of people) person.kill()
      await server.end("SIGTERM")
    },
  }
}
