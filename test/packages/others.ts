// Packages of others that the tests of the packed packages install, each in one version.

const nodeTypes = { "@types/node": "24.19.2" }
const typescript = { typescript: "7.0.2" }
const typescript5 = { typescript5: "npm:typescript@5.9.3" }
const frameworks = { express: "5.3.0", fastify: "5.12.8", hono: "4.13.19" }

export const others = {
  compilers: { ...typescript, ...typescript5, ...nodeTypes },
  express: { express: frameworks.express },
  fastify: { fastify: frameworks.fastify },
  hono: { hono: frameworks.hono, "@hono/node-server": "2.1.8" },
  vite: { ...typescript, vite: "8.3.8" },
  // Next reads its project with the JavaScript API of TypeScript, which 7 does not have.
  next: {
    ...nodeTypes,
    next: "16.4.6",
    react: "19.3.1",
    "react-dom": "19.3.1",
    "@types/react": "19.3.0",
    typescript: "5.9.3",
  },
  // React Native's own types come from its package, without its hundreds of dependencies.
  reactNative: { ...typescript, ...typescript5, "@types/react": "18.3.12" },
  types: { ...typescript, ...typescript5, ...nodeTypes, ...frameworks, "@types/express": "5.0.6" },
} as const
