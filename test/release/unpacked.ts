// Runs programs in an image's files as a container runtime would: own root, read-only, the image's user and settings.
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { chownSync, mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

interface Descriptor {
  readonly digest: string
  readonly size: number
  readonly platform: { readonly architecture: string }
}

export interface Unpacked {
  /** The root of the image's files. */
  readonly root: string
  readonly entryPoint: readonly string[]
  readonly healthCheck: readonly string[]
  /** Sum of the sizes of the compressed layers. */
  readonly compressedBytes: number
  /** Starts a program of the image. Signals reach it directly. */
  readonly start: (command: readonly string[], settings?: Readonly<Record<string, string>>) => ChildProcess
  /** Runs a program to its end. */
  readonly run: (
    command: readonly string[],
    settings?: Readonly<Record<string, string>>,
  ) => Promise<{ readonly code: number | null; readonly output: string }>
}

/** What a runtime mounts: a read-only root, /proc, /tmp, and the volume. */
const mounts = `set -e
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount -t tmpfs -o size=16m tmpfs "$1/tmp"
mount --bind "$2" "$1/var/lib/signet"
mount -o remount,ro,bind "$1"
root="$1" user="$3"
shift 3
exec chroot --userspec="$user" "$root" "$@"`

/**
 * @param layout A tar of an OCI layout.
 * @param folder An empty folder.
 */
export function unpackImage(layout: string, folder: string, architecture: string): Unpacked {
  const [blobs, root, volume] = ["layout", "root", "volume"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const path of [blobs, root, volume]) mkdirSync(path)
  execFileSync("tar", ["-xf", layout, "-C", blobs])
  const pathOf = ({ digest }: Descriptor) => join(blobs, "blobs", digest.replace(":", "/"))
  const read = (path: string) => JSON.parse(readFileSync(path, "utf8"))
  const [named] = read(join(blobs, "index.json")).manifests
  const ours = read(pathOf(named)).manifests.find(({ platform }: Descriptor) => platform.architecture === architecture)
  const manifest = read(pathOf(ours))
  const { config } = read(pathOf(manifest.config))
  for (const layer of manifest.layers) {
    execFileSync("tar", ["--numeric-owner", "-xzf", pathOf(layer), "-C", root])
  }
  mkdirSync(join(root, "proc"), { recursive: true })
  const [uid = 0, gid = 0] = config.User.split(":").map(Number)
  chownSync(volume, uid, gid)
  const environment = Object.fromEntries(config.Env.map((line: string) => line.split(/=(.*)/s).slice(0, 2)))
  const start = (command: readonly string[], settings: Readonly<Record<string, string>> = {}) =>
    spawn("unshare", ["--mount", "sh", "-c", mounts, "sh", root, volume, config.User, ...command], {
      env: { ...environment, PATH: `${environment.PATH}:/usr/sbin:/usr/bin:/sbin:/bin`, ...settings },
      stdio: ["ignore", "pipe", "pipe"],
    })
  return {
    root,
    entryPoint: config.Entrypoint,
    healthCheck: config.Healthcheck.Test.slice(1),
    compressedBytes: manifest.layers.reduce((sum: number, { size }: Descriptor) => sum + size, 0),
    start,
    async run(command, settings) {
      const child = start(command, settings)
      let output = ""
      for (const stream of [child.stdout, child.stderr]) {
        stream?.setEncoding("utf8").on("data", (text: string) => {
          output += text
        })
      }
      const [code] = await once(child, "close")
      return { code, output }
    },
  }
}
