import { equal, match } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { findProgram } from "../src/program.js";

const archiveNames: Record<string, string> = { "linux-x64": "linux_amd64", "linux-arm64": "linux_arm64" };
const archiveName = archiveNames[`${process.platform}-${process.arch}`];

test("the packages of a release have the program", { skip: archiveName === undefined }, () => {
  const folder = mkdtempSync(join(tmpdir(), "package-"));
  try {
    // In place of the program, the archive has a script that runs it: packing is fast then.
    writeFileSync(join(folder, "miniapi"), `#!/bin/sh\nexec "${findProgram()}" "$@"\n`, { mode: 0o755 });
    execFileSync("tar", ["-czf", `miniapi_1.2.3_${archiveName}.tar.gz`, "miniapi"], { cwd: folder });
    execFileSync("./pack", ["v1.2.3", folder, join(folder, "packages")]);
    const packages = readdirSync(join(folder, "packages")).map((name) => join(folder, "packages", name));
    equal(packages.length, 2);

    const project = join(folder, "project");
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), '{"type": "module"}');
    execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", ...packages], { cwd: project });
    writeFileSync(
      join(project, "start.js"),
      'import { startServer } from "@miniapi-dev/miniapi";\nconsole.log((await startServer()).url);\n',
    );
    const env = { XDG_CACHE_HOME: project, PATH: dirname(process.execPath), TMPDIR: tmpdir() };
    match(execFileSync(process.execPath, ["start.js"], { cwd: project, env, encoding: "utf8" }), /^https:/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
