// The folder of the unlock agent: its socket, and the key that wraps the agent's key.
import { createHash } from "node:crypto"
import { lstat, mkdir } from "node:fs/promises"
import { hostname } from "node:os"
import { join } from "node:path"
import { CommandError, exitCodes } from "../failure.ts"

export interface AgentPlace {
  readonly folder: string
  readonly socket: string
  /** 32 random bytes that seal the agent's key: neither is useful without the other. */
  readonly wrap: string
}

/** The limit of sun_path on every system, with its terminating zero (Linux 108, macOS 104). */
const maxSocketBytes = 100

/** @returns Undefined if agents are not offered: on Windows, and for a path that is too long for a socket. */
export function agentPlaceOf(home: string): AgentPlace | undefined {
  if (process.platform === "win32") return undefined
  const folder = join(home, "unlock")
  // Several machines may share a home folder on a network, but an agent runs on one.
  const host = createHash("sha256").update(hostname()).digest("hex").slice(0, 8)
  const socket = join(folder, `${host}.sock`)
  if (Buffer.byteLength(socket) > maxSocketBytes) return undefined
  return { folder, socket, wrap: join(folder, `${host}.wrap`) }
}

/**
 * Creates the folder, which only its owner can access.
 *
 * @throws CommandError UNLOCK_FOLDER_OPEN if another user owns it or can access it.
 */
export async function makeFolder({ folder }: AgentPlace): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await checkOwned(folder, "folder")
}

/**
 * Checks that only this user can access a path, and that it is no symbolic link.
 *
 * @returns True if it exists.
 * @throws CommandError UNLOCK_FOLDER_OPEN
 */
export async function checkOwned(path: string, kind: "folder" | "file" | "socket"): Promise<boolean> {
  const found = await lstat(path).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined
    throw error
  })
  if (found === undefined) return false
  const isKind = { folder: found.isDirectory(), file: found.isFile(), socket: found.isSocket() }[kind]
  if (isKind && found.uid === process.getuid?.() && (found.mode & 0o077) === 0) return true
  const octal = kind === "folder" ? "0700" : "0600"
  throw new CommandError(
    "UNLOCK_FOLDER_OPEN",
    exitCodes.unavailable,
    `${path} must be a ${kind} that only you can access (mode ${octal})`,
    { hint: `Find out who changed it, then remove it: rm -r ${path}` },
  )
}
