import { equal, throws } from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { findProgram } from "../src/program.js";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "program-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Writes an empty file below the folder, and returns its path. */
function write(path: string): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "");
  return file;
}

test("$MINIAPI precedes the cache, which precedes the PATH", { skip: process.platform !== "linux" }, () => {
  const onPath = write("bin/miniapi");
  const env: NodeJS.ProcessEnv = { XDG_CACHE_HOME: folder, PATH: `none:${onPath}:${dirname(onPath)}` };
  equal(findProgram(env), onPath);
  const cached = write("miniapi/fixture/v0.0.0/miniapi");
  equal(findProgram(env), cached);
  const named = write("named");
  equal(findProgram({ ...env, MINIAPI: named }), named);
});

test("the program of the platform's package is the last choice", () => {
  const name = process.platform === "win32" ? "miniapi.exe" : "miniapi";
  const package_ = `node_modules/@miniapi-dev/miniapi-${process.platform}-${process.arch}`;
  mkdirSync(package_, { recursive: true });
  try {
    writeFileSync(join(package_, name), "");
    equal(findProgram({ XDG_CACHE_HOME: folder, PATH: "" }), resolve(package_, name));
  } finally {
    rmSync(package_, { recursive: true });
  }
});

test("a missing program is an error that says what to do", () => {
  throws(() => findProgram({ MINIAPI: folder }), /\$MINIAPI is .*, which is no file/);
  throws(() => findProgram({ XDG_CACHE_HOME: folder, PATH: "" }), {
    name: "MiniapiError",
    message: /there is no miniapi program: .*set \$MINIAPI to the path of a miniapi program/,
  });
});
