// The exports of @signet/proto: each contract file by name, and by the name that other generated code imports.
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { root } from "./plan.ts"

const folder = "gen/es"

/** False for what clients store, for the interfaces inside a client, and for internals of the server. */
const isPublic = (path: string): boolean => !/^(signet\/(client|host)|grpc\/reflection)\//.test(path)

/** From a path in the repository to the name in `exports`. */
const names: ReadonlyMap<string, string> = new Map(
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith("_pb.ts") && isPublic(path))
    .sort()
    .map((path) => [join(folder, path), `./${path.replace(/^signet\//, "").replace(/_pb\.ts$/, "")}`]),
)

/** The specifier of a contract file; undefined for unpublished and other files. */
export function protoSpecifier(file: string): string | undefined {
  const name = names.get(file)
  return name && `@signet/proto${name.slice(1)}`
}

/**
 * Names to files, both relative to the workspace: `./auth/v1/auth_service`, and `./signet/auth/v1/auth_service_pb.js`.
 */
export function protoExports(): Readonly<Record<string, string>> {
  const all = [...names].flatMap(([file, name]): [string, string][] => {
    const target = `./${file.replace(/^gen\//, "")}`
    const stub = `./${file.slice(folder.length + 1).replace(/\.ts$/, ".js")}`
    return [
      [name, target],
      [stub, target],
    ]
  })
  return Object.fromEntries(all)
}
