// Generates the contract for pages, without validation rules and requirements. Only servers read these, and they are
// more than half of the bytes.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { Plugin } from "esbuild"

const root = join(import.meta.dirname, "../..")
const binaries = join(root, "node_modules/.bin")
const cache = join(root, "node_modules/.cache/signet/web-contract")
const template = "buf.gen.web.yaml"

/** Generates the contract once per version of its files. @returns The folder of its modules. */
export function generateContract(): string {
  const folder = join(cache, contractHash())
  if (!existsSync(folder)) {
    const temporary = `${folder}.${process.pid}`
    mkdirSync(cache, { recursive: true })
    execFileSync(join(binaries, "buf"), ["generate", "--template", template, "-o", temporary], { cwd: root })
    try {
      renameSync(temporary, folder)
    } catch (error) {
      // Another process has generated the folder meanwhile.
      rmSync(temporary, { recursive: true, force: true })
      if (!existsSync(folder)) throw error
    }
  }
  return join(folder, "web")
}

function contractHash(): string {
  const hash = createHash("sha256").update(readFileSync(join(root, template)))
  const files = readdirSync(join(root, "proto"), { recursive: true, encoding: "utf8" })
  for (const file of files.filter((name) => name.endsWith(".proto")).sort()) {
    hash.update(`${file}\0`).update(readFileSync(join(root, "proto", file)))
  }
  return hash.digest("hex").slice(0, 16)
}

/** Resolves `@signet/proto/…` to the modules for pages. */
export function webContract(): Plugin {
  return {
    name: "the contract for pages",
    setup({ onResolve }) {
      const folder = generateContract()
      onResolve({ filter: /^@signet\/proto\// }, ({ path }) => {
        const name = path.slice("@signet/proto/".length)
        return { path: join(folder, name.startsWith("google/") ? `${name}_pb.js` : `signet/${name}_pb.js`) }
      })
    },
  }
}
