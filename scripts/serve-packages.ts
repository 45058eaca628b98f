// Builds the packages and serves them to npm on loopback, for as long as they are on no public registry: so that the
// tutorials' `npm i @signet/guard` and `npx @signet/server` work as they are written.
import { join } from "node:path"
import { buildPackages, packPackages } from "./build-packages.ts"
import { root } from "./packages/plan.ts"
import { startRegistry } from "./packages/registry.ts"

const into = join(root, "dist/packages")
const port = Number(process.env.PORT ?? 4873)
const { url } = await startRegistry(packPackages(await buildPackages(into), into).values(), port)
console.log(`
The packages are served until Ctrl-C. Tell npm where, in another terminal:

  npm config set @signet:registry ${url}/

Afterwards: npm config delete @signet:registry`)
