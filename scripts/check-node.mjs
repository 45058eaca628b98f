// Plain JavaScript, so that any Node can read it and say what is wrong.
const [major, minor] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `Signet needs Node 22.18 or newer and this is Node ${process.versions.node}; on Linux "npm ci" brings Node 24 along, elsewhere please install it.`,
  )
  process.exit(1)
}
