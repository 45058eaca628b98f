// Plain JavaScript, so that an old Node can print the error.
const [major, minor] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `Signet needs Node 22.18 or newer and this is Node ${process.versions.node}; on Linux "npm ci" installs Node 24, elsewhere install it yourself.`,
  )
  process.exit(1)
}
