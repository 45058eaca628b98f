// An empty Maven project that takes the guard from a repository in a folder, with what the README shows.
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { guard, maven } from "./maven.ts"

/** A block of the README, and the file that it says it is. */
interface Block {
  readonly path: string
  readonly text: string
}

function readmeBlocks(): readonly Block[] {
  const readme = readFileSync(join(guard, "README.md"), "utf8")
  return [...readme.matchAll(/```(java|proto)\n([\s\S]*?)```/g)].map(([, language, text = ""]) => {
    if (language === "proto") return { path: "src/main/protobuf/example/notes/v1/notes.proto", text }
    const name = /^\/\/ (\w+\.java)\n/.exec(text)?.[1]
    if (name === undefined) throw new Error(`a block that names no file: ${text.slice(0, 80)}`)
    return { path: `src/main/java/${name}`, text }
  })
}

/** The dependency as the README writes it. */
function readmeDependency(): string {
  const found = /```xml\n([\s\S]*?)```/.exec(readFileSync(join(guard, "README.md"), "utf8"))?.[1]
  if (found === undefined) throw new Error("the README shows no dependency")
  return found
}

const dependency = (group: string, artifact: string, version: string) =>
  `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`

const property = (name: string): string => {
  const found = new RegExp(`<${name}>(.*)</${name}>`).exec(readFileSync(join(guard, "pom.xml"), "utf8"))?.[1]
  if (found === undefined) throw new Error(`pom.xml has no ${name}`)
  return found
}

function pom(): string {
  const grpc = property("grpc.version")
  const protobuf = property("protobuf.version")
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>example</groupId>
  <artifactId>notes</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    ${readmeDependency()}
    ${dependency("io.grpc", "grpc-netty-shaded", grpc)}
    ${dependency("io.grpc", "grpc-protobuf", grpc)}
    ${dependency("io.grpc", "grpc-stub", grpc)}
    ${dependency("com.nimbusds", "nimbus-jose-jwt", "10.10")}
    ${dependency("jakarta.servlet", "jakarta.servlet-api", "6.0.0")}
    ${dependency("org.springframework.boot", "spring-boot", "3.4.1")}
  </dependencies>
  <build><plugins>
    <plugin>
      <groupId>io.github.ascopes</groupId>
      <artifactId>protobuf-maven-plugin</artifactId>
      <version>3.10.3</version>
      <configuration>
        <protocVersion>${protobuf}</protocVersion>
        <binaryMavenPlugins><binaryMavenPlugin>
          <groupId>io.grpc</groupId><artifactId>protoc-gen-grpc-java</artifactId><version>${grpc}</version>
          <options>@generated=omit</options>
        </binaryMavenPlugin></binaryMavenPlugins>
      </configuration>
      <executions><execution><goals><goal>generate</goal></goals></execution></executions>
    </plugin>
    <plugin><artifactId>maven-resources-plugin</artifactId><version>3.5.0</version></plugin>
    <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.15.0</version></plugin>
  </plugins></build>
</project>
`
}

/** Calls the service of the README without a token and prints what it is told. */
const main = `import example.notes.v1.ListNotesRequest;
import example.notes.v1.NotesServiceGrpc;
import io.grpc.ManagedChannelBuilder;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import com.google.rpc.ErrorInfo;

public class Main {
  public static void main(String[] args) throws Exception {
    var server = NotesServer.start(0, "http://127.0.0.1:1");
    NotesFilter.create("http://127.0.0.1:1");
    StockVerifier.create("http://127.0.0.1:1");
    var channel = ManagedChannelBuilder.forAddress("127.0.0.1", server.getPort()).usePlaintext().build();
    try {
      NotesServiceGrpc.newBlockingStub(channel).listNotes(ListNotesRequest.getDefaultInstance());
    } catch (StatusRuntimeException error) {
      var info = StatusProto.fromThrowable(error).getDetails(0).unpack(ErrorInfo.class);
      System.out.println(error.getStatus().getCode() + " " + info.getReason());
    } finally {
      channel.shutdownNow();
      server.shutdownNow();
    }
  }
}
`

/**
 * Installs the guard into a repository in the folder, and builds the README's blocks with it.
 *
 * @returns The class path that runs the project's Main.
 */
export function buildConsumer(folder: string): string {
  const repository = join(folder, "repository")
  const local = join(homedir(), ".m2/repository")
  // What was downloaded already need not be again.
  if (existsSync(local)) {
    const filter = (path: string) => !path.startsWith(join(local, "dev/signet"))
    cpSync(local, repository, { recursive: true, filter })
  }
  const own = `-Dmaven.repo.local=${repository}`
  maven(guard, own, "-Dmaven.test.skip=true", "install")
  const project = join(folder, "project")
  for (const { path, text } of [...readmeBlocks(), { path: "src/main/java/Main.java", text: main }]) {
    mkdirSync(join(project, path, ".."), { recursive: true })
    writeFileSync(join(project, path), text)
  }
  writeFileSync(join(project, "pom.xml"), pom())
  maven(project, own, "compile", "dependency:build-classpath", "-Dmdep.outputFile=class-path")
  return `${join(project, "target/classes")}:${readFileSync(join(project, "class-path"), "utf8")}`
}
