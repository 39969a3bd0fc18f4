// SPDX-License-Identifier: Apache-2.0
// What each step of the ladders does: a title, and the idea in two sentences. By "family.step".

export interface StepText {
  readonly title: string;
  readonly idea: string;
}

export const STEP_TEXTS: Readonly<Record<"en" | "zh", Readonly<Record<string, StepText>>>> = {
  en: {
    "reduce.cpu": {
      title: "One thread of the CPU",
      idea: "The loop that everybody writes first, compiled to WebAssembly, on one thread of the CPU. A native program can be faster, since it may use wider vectors.",
    },
    "reduce.atomic": {
      title: "One atomic per item",
      idea: "Every thread adds its item to one and the same word with an atomic addition. The additions queue up at that address, so memory mostly waits.",
    },
    "reduce.tree_interleaved": {
      title: "Tree, neighbours first",
      idea: "Each workgroup folds a tile in workgroup memory as a tree, and passes follow until one value is left. The distance between the words of neighbouring threads doubles with each level, so where memory has banks more and more of them collide.",
    },
    "reduce.tree_sequential": {
      title: "Tree without bank conflicts",
      idea: "The same tree, but each thread adds the word that lies half the remaining length away, so neighbouring threads touch neighbouring words. No two of them meet in a bank, and whole subgroups are done early.",
    },
    "reduce.vectors": {
      title: "Loads of four items",
      idea: "Each thread loads four neighbouring items at once and adds them before the tree begins. Fewer and larger loads keep more bytes on their way, and there are a quarter as many values to fold.",
    },
    "reduce.subgroups": {
      title: "Subgroups, one barrier",
      idea: "The threads of a subgroup add up through registers. Only one value a subgroup goes through workgroup memory, so one barrier is enough.",
    },
    "reduce.library": {
      title: "The library",
      idea: "Each workgroup folds a long run of tiles with several loads on their way, and only then do its threads add up. On graphics processors the last workgroup to arrive folds what all have left, so one dispatch does it all.",
    },
    "scan.cpu": {
      title: "One thread of the CPU",
      idea: "A running sum, compiled to WebAssembly, on one thread of the CPU. Each sum waits for the one before it, which is what the steps below get around.",
    },
    "scan.blelloch": {
      title: "Blelloch's tree",
      idea: "A tree of sums is built in workgroup memory and walked back from the root, which makes prefixes with few additions. Its strides are powers of two, so threads collide in memory banks; the totals of the tiles are scanned alike and added in one more pass.",
    },
    "scan.blelloch_padded": {
      title: "Blelloch's tree, padded",
      idea: "The same tree with an unused word after every 32. Strides that are powers of two then go through all banks, for a little more memory and arithmetic.",
    },
    "scan.kogge_stone": {
      title: "Kogge and Stone",
      idea: "Step by step every thread adds the sum that ends 1, 2, 4 and so on items before its own. That is more additions than in a tree, but half the steps, and no two threads meet in a bank.",
    },
    "scan.subgroups": {
      title: "Subgroups",
      idea: "Each subgroup scans in registers, and only its total goes through workgroup memory. One barrier takes the place of one for every level of a tree.",
    },
    "scan.subgroup_vectors": {
      title: "Subgroups, four items a thread",
      idea: "The same with four neighbouring items a thread, loaded and stored as one vector. Each scan of a subgroup now serves four times as many items, and memory moves in larger pieces.",
    },
    "scan.three_phase": {
      title: "Reduce, scan, scan",
      idea: "First tiles are only summed, then these sums are scanned, then each tile is scanned from what lies before it. Items are read twice but written once: 12 bytes each instead of 16.",
    },
    "scan.library_two_pass": {
      title: "The library, two passes",
      idea: "The first pass folds long chunks; in the second each workgroup folds the chunks before its own and scans on from there. This needs barriers alone, so it works on every device, and it moves 12 bytes an item.",
    },
    "scan.library_single_pass": {
      title: "The library, one pass",
      idea: "Each workgroup publishes the total of its tile and looks back over the tiles before it, so items are read once and written once. Where a total is missing for too long the workgroup computes it by itself, so nobody waits for ever.",
    },
    "scan.library": {
      title: "The library's choice",
      idea: "The planner takes one pass where the self-test has passed and the input is long enough, else two. The playground shows its plan with the reasons.",
    },
    "histogram.cpu": {
      title: "One thread of the CPU",
      idea: "A loop that adds one to the right counter, compiled to WebAssembly, on one thread of the CPU. Counters stay in its cache, so this is a good start for few bins.",
    },
    "histogram.atomic": {
      title: "One atomic per sample",
      idea: "Every sample is one atomic addition to the counts in global memory. Samples of the same bin queue up behind each other.",
    },
    "histogram.workgroup": {
      title: "Counters in workgroup memory",
      idea: "Each workgroup counts in its own memory with atomics and adds its counts to the result at the end. Collisions stay within the workgroup, where atomics are cheap.",
    },
    "histogram.threads": {
      title: "Counters of each thread",
      idea: "Every thread has counters of its own, a byte each, so counting needs no atomics. They are added up every 255 samples before they can overflow, and so many counters leave room for few threads.",
    },
    "histogram.library": {
      title: "The library's choice",
      idea: "The planner decides by the number of bins: registers for a few, copies in workgroup memory for more, a cache of counters for many. Samples are loaded as vectors, and few additions reach global memory.",
    },
    "sort.cpu": {
      title: "One thread of the CPU",
      idea: "std::sort, compiled to WebAssembly, on one thread of the CPU. It compares keys, so its time grows a little faster than their number.",
    },
    "sort.cpu_threads": {
      title: "All threads of the CPU",
      idea: "Each thread sorts a part with std::stable_sort, then parts are merged two by two. A module of WebAssembly has one thread here, so only the program upsweep bench measures this.",
    },
    "sort.digits_of_4_bits": {
      title: "4 bits at a time",
      idea: "Count the digits of each chunk, turn the counts into places, move the keys, and repeat for the next 4 bits. Eight rounds of three dispatches read and write each key again and again.",
    },
    "sort.digits_of_8_bits": {
      title: "8 bits at a time",
      idea: "The same with 8 bits at a time, so there are four rounds instead of eight. That halves the traffic, but each round has 256 counters instead of 16.",
    },
    "sort.ballots": {
      title: "Ranks by subgroups",
      idea: "A key's rank among its equals comes from its subgroup: by ballots that tell each lane who else holds its digit, or by counters where the self-test saw that they count in order. This replaces a sort in workgroup memory and its barriers.",
    },
    "sort.one_sweep": {
      title: "One pass a digit",
      idea: "The digits of all rounds are counted in one read ahead, and in each round tiles look back over the counts of those before them. A round then reads each key once instead of twice, in one dispatch instead of three.",
    },
    "sort.library": {
      title: "The library's choice",
      idea: "The planner takes one workgroup for few keys, and one or three dispatches a digit for many, as the device allows. Keys go through workgroup memory, so that neighbouring threads write neighbouring words.",
    },
    "spmv.cpu": {
      title: "One thread of the CPU",
      idea: "A loop over the compressed rows, compiled to WebAssembly, on one thread of the CPU. Two sums a row keep additions from waiting for each other.",
    },
    "spmv.ell_row_major": {
      title: "ELLPACK, row by row",
      idea: "All rows are padded to one length and lie one after the other, and one thread walks along each. Neighbouring threads read far apart, so much of what memory delivers goes unused.",
    },
    "spmv.ell": {
      title: "ELLPACK, slot by slot",
      idea: "The same entries, stored as the first ones of all rows, then the second ones, and so on. Neighbouring threads now read neighbouring words.",
    },
    "spmv.csr_thread": {
      title: "Compressed rows, a thread each",
      idea: "Rows are stored without padding, and one thread walks along each. Nothing superfluous is moved, but reads are scattered and long rows hold up their neighbours.",
    },
    "spmv.csr_subgroup": {
      title: "Compressed rows, a subgroup each",
      idea: "The lanes of a subgroup share a row and add up through registers. They read side by side, but rows shorter than a subgroup leave lanes idle.",
    },
    "spmv.csr_merge": {
      title: "Compressed rows, merge path",
      idea: "Rows and entries are dealt out as one merged list, so that every thread has the same share of both. The time then does not depend on how long the rows are, for the price of a search and of more passes.",
    },
    "spmv.block_ell": {
      title: "Dense blocks",
      idea: "The entries of a small dense block share one column number, so each costs little more than its value. Zeros within the blocks are stored and multiplied, too.",
    },
    "spmv.library": {
      title: "The library's choice",
      idea: "The planner decides how many lanes share a row, or takes the merge path. Which is better depends on how long the rows are and how much their lengths differ.",
    },
  },
  zh: {
    "reduce.cpu": {
      title: "CPU 单线程",
      idea: "人人最先会写的那个循环，编译成 WebAssembly，在 CPU 的一个线程上运行。原生程序可以用更宽的向量，因此还会更快一些。",
    },
    "reduce.atomic": {
      title: "每个元素一次原子操作",
      idea: "每个线程用一次原子加法，把自己的元素加到同一个字上。所有加法都在这个地址前排队，内存大部分时间在等待。",
    },
    "reduce.tree_interleaved": {
      title: "树形归约，相邻者先加",
      idea: "每个工作组在工作组内存里按树形折叠一块数据，一趟接一趟，直到只剩一个值。相邻线程访问的字每升一层距离加倍，内存若分 bank，冲突就越来越多。",
    },
    "reduce.tree_sequential": {
      title: "没有 bank 冲突的树",
      idea: "还是这棵树，但每个线程加上的是相隔剩余长度一半的那个字，相邻线程访问相邻的字。任何两个线程都不会落在同一个 bank，整个子组也能早早收工。",
    },
    "reduce.vectors": {
      title: "一次读取四个元素",
      idea: "每个线程一次读取四个相邻的元素，先加起来再进入树形归约。读取次数更少、每次更大，在途的字节更多，需要折叠的值只剩四分之一。",
    },
    "reduce.subgroups": {
      title: "子组运算，一次屏障",
      idea: "同一子组的线程直接通过寄存器相加。每个子组只有一个值经过工作组内存，因此一次屏障就够了。",
    },
    "reduce.library": {
      title: "本库",
      idea: "每个工作组连续折叠许多块数据，同时有多次读取在途，最后各线程才相加。在图形处理器上，最后到达的工作组把大家留下的结果折叠起来，一次派发就能完成。",
    },
    "scan.cpu": {
      title: "CPU 单线程",
      idea: "逐个累加，编译成 WebAssembly，在 CPU 的一个线程上运行。每个和都要等前一个和，下面各级要绕开的正是这一点。",
    },
    "scan.blelloch": {
      title: "Blelloch 树",
      idea: "在工作组内存里先向上建一棵求和树，再从根走回叶子，用很少的加法得到前缀和。步长都是 2 的幂，线程会在 bank 上冲突；各块的总和再用同样的方法扫描，多花一趟加回去。",
    },
    "scan.blelloch_padded": {
      title: "带填充的 Blelloch 树",
      idea: "还是这棵树，每 32 个字后空出一个字。2 的幂步长于是轮流经过所有 bank，代价只是多一点内存和一点下标计算。",
    },
    "scan.kogge_stone": {
      title: "Kogge-Stone",
      idea: "每一步里，所有线程依次加上 1、2、4……个元素之前的那个和。加法比树形多，但步数只有一半，线程之间也没有 bank 冲突。",
    },
    "scan.subgroups": {
      title: "子组扫描",
      idea: "每个子组在寄存器里完成扫描，只有它的总和经过工作组内存。树形方法每层一次的屏障，这里只需要一次。",
    },
    "scan.subgroup_vectors": {
      title: "子组扫描，每线程四个元素",
      idea: "方法相同，但每个线程把四个相邻元素当作一个向量读取和写入。一次子组扫描照顾的元素变成四倍，内存的搬运也更成块。",
    },
    "scan.three_phase": {
      title: "归约、扫描、再扫描",
      idea: "先只求每块的和，再扫描这些和，最后各块从自己之前的总和开始扫描。元素读两次、只写一次：每个 12 字节，而不是 16 字节。",
    },
    "scan.library_two_pass": {
      title: "本库，两趟",
      idea: "第一趟折叠很长的数据段；第二趟里，每个工作组先折叠自己之前的各段，再接着扫描。它只依赖屏障，在任何设备上都能工作，每个元素搬运 12 字节。",
    },
    "scan.library_single_pass": {
      title: "本库，一趟",
      idea: "每个工作组公布自己这块的总和，再向前回看前面各块，因此每个元素只读一次、写一次。如果某个总和迟迟不来，工作组就自己把它算出来，谁也不会无限等待。",
    },
    "scan.library": {
      title: "本库的选择",
      idea: "自检通过且输入足够长时，规划器选择一趟，否则选择两趟。“试验场”里可以看到它的计划和理由。",
    },
    "histogram.cpu": {
      title: "CPU 单线程",
      idea: "给对应的计数器加一的循环，编译成 WebAssembly，在 CPU 的一个线程上运行。计数器都留在缓存里，区间不多时这已是不错的起点。",
    },
    "histogram.atomic": {
      title: "每个样本一次原子操作",
      idea: "每个样本都对全局内存中的计数做一次原子加法。落入同一个区间的样本只能依次排队。",
    },
    "histogram.workgroup": {
      title: "工作组内存中的计数器",
      idea: "每个工作组在自己的内存里用原子操作计数，最后才加到结果上。冲突只发生在工作组内部，那里的原子操作很便宜。",
    },
    "histogram.threads": {
      title: "每个线程自己的计数器",
      idea: "每个线程都有自己的一套单字节计数器，计数时不需要原子操作。每 255 个样本就要在溢出之前汇总一次，而且这么多计数器只容得下少量线程。",
    },
    "histogram.library": {
      title: "本库的选择",
      idea: "规划器按区间个数决定：很少时用寄存器，多一些时在工作组内存里放若干份，很多时用计数器缓存。样本按向量读取，到达全局内存的加法很少。",
    },
    "sort.cpu": {
      title: "CPU 单线程",
      idea: "std::sort，编译成 WebAssembly，在 CPU 的一个线程上运行。它靠比较键来排序，用时增长得比键的个数略快。",
    },
    "sort.cpu_threads": {
      title: "CPU 全部线程",
      idea: "每个线程用 std::stable_sort 排好一部分，再两两归并。这里的 WebAssembly 模块只有一个线程，因此只有 upsweep bench 程序会测量这一级。",
    },
    "sort.digits_of_4_bits": {
      title: "每次 4 位",
      idea: "统计每段数据的数位，把计数变成位置，移动键，然后处理下一个 4 位。八轮、每轮三次派发，每个键被反复读写。",
    },
    "sort.digits_of_8_bits": {
      title: "每次 8 位",
      idea: "方法相同，但每次处理 8 位，八轮变成四轮。数据量减半，但每轮的计数器从 16 个变成 256 个。",
    },
    "sort.ballots": {
      title: "用子组求名次",
      idea: "一个键在相同数位中的名次由子组得出：通过投票（ballot）得知哪些同伴的数位相同，自检确认计数有序时则直接用计数器的返回值。这样就不必在工作组内存里排序，也省去了相应的屏障。",
    },
    "sort.one_sweep": {
      title: "每个数位一趟",
      idea: "事先一次读取就统计好所有轮的数位，每一轮里各块再回看前面各块的计数。于是每轮只读一次键而不是两次，只派发一次而不是三次。",
    },
    "sort.library": {
      title: "本库的选择",
      idea: "键很少时规划器只用一个工作组，键多时按设备的能力选择每个数位一次或三次派发。键先经过工作组内存，使相邻线程写入相邻的字。",
    },
    "spmv.cpu": {
      title: "CPU 单线程",
      idea: "逐行遍历压缩行的循环，编译成 WebAssembly，在 CPU 的一个线程上运行。每行用两个和，加法就不必互相等待。",
    },
    "spmv.ell_row_major": {
      title: "ELLPACK，逐行存放",
      idea: "所有行填充到同样的长度，一行接一行存放，每个线程走完一行。相邻线程读取的位置相距很远，内存送来的数据大半用不上。",
    },
    "spmv.ell": {
      title: "ELLPACK，逐列存放",
      idea: "元素相同，但先存所有行的第一个，再存所有行的第二个，依此类推。相邻线程现在读取相邻的字。",
    },
    "spmv.csr_thread": {
      title: "压缩行（CSR），每行一个线程",
      idea: "各行不加填充地存放，每个线程走完一行。没有多余的数据要搬，但读取很分散，长行会拖住旁边的线程。",
    },
    "spmv.csr_subgroup": {
      title: "压缩行（CSR），每行一个子组",
      idea: "一个子组的线程共同处理一行，再通过寄存器相加。它们并排读取，但比子组短的行会让一些线程闲着。",
    },
    "spmv.csr_merge": {
      title: "压缩行（CSR），归并路径",
      idea: "行和元素合成一个列表来分配，每个线程分到的两者都一样多。因此用时与各行的长度无关，代价是一次查找和更多的趟数。",
    },
    "spmv.block_ell": {
      title: "稠密小块",
      idea: "同一个稠密小块里的元素共用一个列号，每个元素的开销只比它的值多一点。块里的零也要存储，也要参与乘法。",
    },
    "spmv.library": {
      title: "本库的选择",
      idea: "规划器决定由几个线程共同处理一行，或者改走归并路径。哪种更好，取决于各行有多长、长短相差多少。",
    },
  },
};
