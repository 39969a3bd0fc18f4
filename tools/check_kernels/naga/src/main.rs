// SPDX-License-Identifier: Apache-2.0
// Parses and validates every .wgsl file of a folder with naga, the WGSL compiler of Firefox and wgpu.
// usage: naga_check FOLDER
//
// naga has subgroup functions and the builtin subgroup_id, but not the names of the directives that the standard asks
// for. Those two directives are blanked before parsing, and counted; everything else is checked as it is. naga does not
// check uniformity; Tint does.
use std::path::PathBuf;
use std::process::ExitCode;

use naga::front::wgsl;
use naga::valid::{Capabilities, ValidationFlags, Validator};

const BLANKED: [&str; 2] = ["enable subgroups;", "requires subgroup_id;"];

/// What WebGPU's core and its features `subgroups` and `shader-f16` offer (core has unpack2x16float).
fn capabilities() -> Capabilities {
    Capabilities::SUBGROUP
        | Capabilities::SUBGROUP_BARRIER
        | Capabilities::SHADER_FLOAT16
        | Capabilities::SHADER_FLOAT16_IN_FLOAT32
}

/// The text with the directives above blanked (lines keep their numbers), and which were there.
fn without_directives(text: &str) -> (String, [bool; 2]) {
    let mut found = [false; 2];
    let mut result = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match BLANKED.iter().position(|directive| line.trim_end() == *directive) {
            Some(index) => {
                found[index] = true;
                result.push('\n');
            }
            None => result.push_str(line),
        }
    }
    (result, found)
}

fn check(text: &str) -> Result<(), String> {
    let mut options = wgsl::Options::new();
    options.capabilities = capabilities();
    let module = wgsl::Frontend::new_with_options(options)
        .parse(text)
        .map_err(|error| error.emit_to_string(text))?;
    Validator::new(ValidationFlags::all(), capabilities())
        .subgroup_stages(naga::valid::ShaderStages::COMPUTE)
        .subgroup_operations(naga::valid::SubgroupOperationSet::all())
        .validate(&module)
        .map(|_| ())
        .map_err(|error| error.emit_to_string(text))
}

fn wgsl_files(folder: &str) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "wgsl") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn run(folder: &str) -> std::io::Result<bool> {
    let paths = wgsl_files(folder)?;
    let mut blanked = [0usize; 2];
    let mut failures = 0usize;
    for path in &paths {
        let text = std::fs::read_to_string(path)?;
        let (text, found) = without_directives(&text);
        for (count, is_there) in blanked.iter_mut().zip(found) {
            *count += usize::from(is_there);
        }
        if let Err(message) = check(&text) {
            failures += 1;
            println!("{}\n{}", path.file_name().unwrap_or_default().to_string_lossy(), message);
        }
    }
    println!("naga checked {} kernels, {} failed, none were skipped", paths.len(), failures);
    for (directive, count) in BLANKED.iter().zip(blanked) {
        println!("  {count} of them without their line `{directive}`, a name that naga does not know");
    }
    Ok(failures == 0 && !paths.is_empty())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 2 {
        eprintln!("usage: naga_check FOLDER");
        return ExitCode::from(2);
    }
    match run(&arguments[1]) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{}: {error}", arguments[1]);
            ExitCode::FAILURE
        }
    }
}
