// The server's image: Node, the libraries that it needs, and the server with its packages. It has no shell, no package
// manager and no other program.
import { version } from "../packages/plan.ts"
import { type Architecture, type BasePackage, baseEntries, type LockedPackage } from "./debian.ts"
import type { NodeBinary } from "./node-binary.ts"
import { type Image, type Layer, type LayoutFile, writeLayout } from "./oci.ts"
import { folderEntries, type LockedModule, moduleEntries } from "./production.ts"
import type { Entry } from "./tar.ts"

/** User and group of the server. */
const user = 65532

const program = "/app/node_modules/@signet/server/bin/signet-server.mjs"
const node = "/usr/local/bin/node"

/** `config` of the image. Docker and Podman know `Healthcheck`, which the specification lacks; others ignore it. */
const config = {
  User: `${user}:${user}`,
  Env: ["PATH=/usr/local/bin", "NODE_ENV=production", "HOST=0.0.0.0", "SIGNET_DATA=/var/lib/signet"],
  Entrypoint: [node, program],
  WorkingDir: "/var/lib/signet",
  ExposedPorts: { "8080/tcp": {} },
  Volumes: { "/var/lib/signet": {} },
  StopSignal: "SIGTERM",
  Healthcheck: {
    Test: ["CMD", node, program, "health"],
    Interval: 10_000_000_000,
    Timeout: 5_000_000_000,
    StartPeriod: 30_000_000_000,
    Retries: 3,
  },
}

interface ImageParts {
  /** The folder of the built `@signet/server`. */
  readonly server: string
  readonly modules: readonly LockedModule[]
  readonly nodes: ReadonlyMap<Architecture, NodeBinary>
  readonly debs: ReadonlyMap<LockedPackage, string>
  readonly commit: string
  /** Unix time of the commit. */
  readonly seconds: number
}

interface BuiltImage {
  readonly files: readonly LayoutFile[]
  /** For the bill of materials of each platform. */
  readonly contents: ReadonlyMap<
    Architecture,
    { readonly base: readonly BasePackage[]; readonly files: readonly Entry[] }
  >
}

export async function buildImage({ server, modules, nodes, debs, commit, seconds }: ImageParts): Promise<BuiltImage> {
  const application: Layer = {
    title: `@signet/server ${version} with its packages`,
    entries: [
      ...moduleEntries(modules, "app"),
      ...folderEntries(server, "app/node_modules/@signet/server", (path) => path.endsWith(".map")),
    ],
  }
  const contents = new Map<Architecture, { base: readonly BasePackage[]; files: readonly Entry[] }>()
  const images = [...nodes].map(([architecture, binary]): Image => {
    const own = new Map([...debs].filter(([locked]) => locked.architecture === architecture))
    const base = baseEntries(binary.program, own, architecture)
    const libraries: Layer = { title: "system libraries", entries: [...system, ...base.entries] }
    const runtime: Layer = {
      title: `Node ${binary.version}`,
      entries: [
        { path: node.slice(1), mode: 0o755, content: binary.program },
        { path: "usr/share/doc/node/LICENSE", content: binary.licence },
      ],
    }
    const layers = [libraries, runtime, application]
    contents.set(architecture, { base: base.packages, files: layers.flatMap(({ entries }) => entries) })
    return { platform: { architecture, os: "linux" }, layers, config }
  })
  const annotations = {
    "org.opencontainers.image.title": "signet-server",
    "org.opencontainers.image.version": version,
    "org.opencontainers.image.revision": commit,
    "org.opencontainers.image.created": new Date(seconds * 1_000).toISOString(),
    "org.opencontainers.image.licenses": "Apache-2.0",
  }
  const files = await writeLayout(images, { name: "signet-server", version, seconds, annotations })
  return { files, contents }
}

/** A user, name resolution by hosts file and DNS, and folders that can be written if they are mounted so. */
const system: readonly Entry[] = [
  {
    path: "etc/passwd",
    content: Buffer.from(`root:x:0:0::/:/nologin\nsignet:x:${user}:${user}::/var/lib/signet:/nologin\n`),
  },
  { path: "etc/group", content: Buffer.from(`root:x:0:\nsignet:x:${user}:\n`) },
  { path: "etc/nsswitch.conf", content: Buffer.from("hosts: files dns\n") },
  { path: "tmp/", mode: 0o1777 },
  { path: "var/lib/signet/", mode: 0o700, owner: user },
]
