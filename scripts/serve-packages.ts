// Builds the packages and serves them to npm on loopback, as long as no public registry has them: `npm i @signet/guard`
// and `npx @signet/server` then work as the tutorials say.
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
