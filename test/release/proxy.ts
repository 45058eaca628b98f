// Starts the proxies of deploy/proxies on loopback: the samples as they are, but for names, ports and files.
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Certificate } from "../support/certificate.ts"
import { freePort } from "../support/free-port.ts"

export interface RunningProxy {
  readonly url: string
  stop(): Promise<void>
}

interface Places {
  readonly folder: string
  readonly port: number
  readonly upstream: number
  /** A second server, which only nginx knows here. */
  readonly second?: number | undefined
  readonly certFile: string
  readonly keyFile: string
}

interface Kind {
  readonly program: string
  readonly sample: string
  /** Writes the configuration. @returns The arguments of the program. */
  readonly prepare: (sample: string, places: Places) => readonly string[]
}

const samples = join(import.meta.dirname, "../../deploy/proxies")

/** Replaces parts that the sample must have. */
function replaced(text: string, changes: readonly (readonly [string, string])[]): string {
  return changes.reduce((before, [from, to]) => {
    if (!before.includes(from)) throw new Error(`the sample must have: ${from}`)
    return before.replaceAll(from, to)
  }, text)
}

function write(folder: string, name: string, text: string): string {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

const kinds: Readonly<Record<string, Kind>> = {
  Caddy: {
    program: "caddy",
    sample: "Caddyfile",
    prepare(sample, { folder, port, upstream, certFile, keyFile }) {
      const site = replaced(sample, [
        [
          "\nauth.example.com {",
          `\nhttps://localhost:${port}, https://127.0.0.1:${port} {\n\ttls ${certFile} ${keyFile}`,
        ],
        ["127.0.0.1:8080", `127.0.0.1:${upstream}`],
      ])
      const options = `{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system ${folder}/caddy\n}\n`
      return ["run", "--adapter", "caddyfile", "--config", write(folder, "Caddyfile", options + site)]
    },
  },
  nginx: {
    program: "nginx",
    sample: "nginx.conf",
    prepare(sample, { folder, port, upstream, second, certFile, keyFile }) {
      const servers = [upstream, ...(second === undefined ? [] : [second])].map(
        (one) => `server 127.0.0.1:${one} fail_timeout=1s;`,
      )
      const site = replaced(sample, [
        ["listen 443 ssl http2;", `listen 127.0.0.1:${port} ssl http2;`],
        ["server 127.0.0.1:8080 fail_timeout=1s;", servers.join(" ")],
        ["/etc/ssl/auth.example.com.pem", certFile],
        ["/etc/ssl/auth.example.com.key", keyFile],
      ])
      mkdirSync(join(folder, "logs"))
      const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
        (name) => `${name}_temp_path ${folder}/${name};`,
      )
      const whole = `pid ${folder}/nginx.pid;\nevents {}\nhttp {\naccess_log off;\n${temporary.join("\n")}\n${site}}\n`
      return ["-p", folder, "-e", "stderr", "-g", "daemon off;", "-c", write(folder, "nginx.conf", whole)]
    },
  },
  Envoy: {
    program: process.env.SIGNET_ENVOY ?? "envoy",
    sample: "envoy.yaml",
    prepare(sample, { folder, port, upstream, certFile, keyFile }) {
      const config = replaced(sample, [
        ["{ address: 0.0.0.0, port_value: 443 }", `{ address: 127.0.0.1, port_value: ${port} }`],
        ["{ address: 127.0.0.1, port_value: 8080 }", `{ address: 127.0.0.1, port_value: ${upstream} }`],
        ["/etc/ssl/auth.example.com.pem", certFile],
        ["/etc/ssl/auth.example.com.key", keyFile],
      ])
      const once = ["--disable-hot-restart", "--concurrency", "1", "--log-level", "warning"]
      return ["-c", write(folder, "envoy.yaml", config), ...once]
    },
  },
}

export const proxies = Object.keys(kinds)

/** True if the program of the proxy is installed. */
export function hasProxy(name: string): boolean {
  const program = kinds[name]?.program ?? ""
  try {
    execFileSync("sh", ["-c", 'command -v "$1"', "sh", program], { stdio: "ignore", env: environment })
    return true
  } catch {
    return false
  }
}

const environment = { PATH: `${process.env.PATH}:/usr/sbin`, HOME: "/nonexistent" }

/**
 * @param places The ports of one server or two, and an empty folder.
 */
export async function startProxy(
  name: string,
  { certificate, ...places }: Pick<Places, "folder" | "upstream" | "second"> & { certificate: Certificate },
): Promise<RunningProxy> {
  const kind = kinds[name]
  if (kind === undefined) throw new Error(`no proxy is named ${name}`)
  const { folder } = places
  const certFile = write(folder, "cert.pem", certificate.cert)
  const keyFile = write(folder, "key.pem", certificate.key)
  const port = await freePort()
  const sample = readFileSync(join(samples, kind.sample), "utf8")
  const args = kind.prepare(sample, { ...places, port, certFile, keyFile })
  const child = spawn(kind.program, args, { stdio: ["ignore", "pipe", "pipe"], env: environment })
  await untilListening(child, port, name)
  return {
    url: `https://127.0.0.1:${port}`,
    async stop() {
      const ended = once(child, "close")
      child.kill("SIGTERM")
      await ended
    },
  }
}

async function untilListening(child: ChildProcess, port: number, name: string): Promise<void> {
  let log = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk) => {
      log = (log + chunk).slice(-4_000)
    })
  }
  const { connect } = await import("node:net")
  for (let attempt = 0; attempt < 300; attempt++) {
    if (child.exitCode !== null) break
    const socket = connect(port, "127.0.0.1")
    const isOpen = await Promise.race([once(socket, "connect"), once(socket, "close").then(() => false)]).catch(
      () => false,
    )
    socket.destroy()
    if (isOpen !== false) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  child.kill("SIGKILL")
  throw new Error(`${name} does not listen:\n${log}`)
}
