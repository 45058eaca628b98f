// Calls the unlock agent, and starts it.
import { spawn } from "node:child_process"
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"
import { readFile, rm, writeFile } from "node:fs/promises"
import { connect } from "node:net"
import { hiddenAgent } from "../hidden.ts"
import { type AgentOrder, maxRequestBytes } from "./agent.ts"
import { type AgentPlace, checkOwned, makeFolder } from "./folder.ts"

const answerMs = 2_000
const startMs = 10_000
const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16

/**
 * The key that the agent holds under this id; undefined without an agent or for another id.
 *
 * @throws CommandError UNLOCK_FOLDER_OPEN if another user could have placed the agent.
 */
export async function findKey(place: AgentPlace, id: string): Promise<Uint8Array | undefined> {
  if (!(await checkOwned(place.folder, "folder"))) return undefined
  if (!(await checkOwned(place.socket, "socket")) || !(await checkOwned(place.wrap, "file"))) return undefined
  const sealed = await ask(place, `find ${id}`)
  if (sealed === undefined || sealed === "none") return undefined
  const wrap = await readFile(place.wrap).catch(() => undefined)
  return wrap && open(wrap, id, Buffer.from(sealed, "base64url"))
}

/** Ends the agent. @returns True if one was running. */
export async function lockAgent(place: AgentPlace): Promise<boolean> {
  if (!(await checkOwned(place.folder, "folder")) || !(await checkOwned(place.socket, "socket"))) return false
  const isEnded = (await ask(place, "lock")) === "locked"
  await rm(place.socket, { force: true })
  await rm(place.wrap, { force: true })
  return isEnded
}

/**
 * Starts an agent, and ends a running one first. Callers hold a lock.
 *
 * @param program The file of this command, which is also the agent's program.
 */
export async function startAgent(
  place: AgentPlace,
  { program, id, key, minutes }: { program: string; id: string; key: Uint8Array; minutes: number },
): Promise<void> {
  await makeFolder(place)
  await lockAgent(place)
  const wrap = randomBytes(keyBytes)
  await writeFile(place.wrap, wrap, { flag: "wx", mode: 0o600 })
  const sealed = seal(wrap, id, key).toString("base64url")
  wrap.fill(0)
  await run(program, { socket: place.socket, wrap: place.wrap, id, sealed, minutes })
}

function run(program: string, order: AgentOrder): Promise<void> {
  const { HOME, XDG_CACHE_HOME, NODE_COMPILE_CACHE } = process.env
  const child = spawn(process.execPath, [program, hiddenAgent], {
    detached: true,
    cwd: "/",
    // No secret of the environment, and no options of another program.
    env: { HOME, XDG_CACHE_HOME, NODE_COMPILE_CACHE },
    stdio: ["pipe", "pipe", "ignore"],
  })
  const { stdin, stdout } = child
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => done(new Error("the unlock agent does not respond")), startMs)
    const done = (error?: Error) => {
      clearTimeout(timer)
      stdin.destroy()
      stdout.destroy()
      child.unref()
      if (error === undefined) return resolve()
      child.kill()
      reject(error)
    }
    child.once("error", done)
    child.once("exit", () => done(new Error("the unlock agent does not start")))
    stdin.once("error", done)
    stdout.once("data", () => done())
    stdin.end(JSON.stringify(order))
  })
}

/** One line of the agent; undefined without an answer. */
function ask({ socket: path }: AgentPlace, request: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let line = ""
    const socket = connect({ path })
    socket.setTimeout(answerMs, () => socket.destroy())
    socket.on("error", () => resolve(undefined))
    socket.on("close", () => resolve(line.endsWith("\n") ? line.trimEnd() : undefined))
    socket.setEncoding("utf8").on("data", (text: string) => {
      line += text
      if (line.length > maxRequestBytes) socket.destroy()
    })
    socket.on("connect", () => socket.write(`${request}\n`))
  })
}

function seal(wrap: Uint8Array, id: string, key: Uint8Array): Buffer {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv("aes-256-gcm", wrap, nonce).setAAD(Buffer.from(id))
  return Buffer.concat([nonce, cipher.update(key), cipher.final(), cipher.getAuthTag()])
}

/** Undefined for bytes of another agent. */
function open(wrap: Uint8Array, id: string, sealed: Uint8Array): Uint8Array | undefined {
  if (sealed.length !== nonceBytes + keyBytes + tagBytes || wrap.length !== keyBytes) return undefined
  const decipher = createDecipheriv("aes-256-gcm", wrap, sealed.subarray(0, nonceBytes))
  decipher.setAAD(Buffer.from(id)).setAuthTag(sealed.subarray(-tagBytes))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(nonceBytes, -tagBytes)), decipher.final()])
  } catch {
    return undefined
  }
}
